// Triangular systems and Cholesky factors of stacks of matrices.
#include "blas.h"

enum { CHUNK = 64 };  // rows that are turned together

typedef struct {
    int type, left, lower, transposed, unit, n, others;
    const char *a;
    char *x;
} job;

static const char *part(const job *j, int row, int column) {
    int first = j->transposed ? column : row, second = j->transposed ? row : column;
    return j->a + ((word)first * (word)j->n + (word)second) * bytes_of(j->type);
}

// What is known of the unknowns from `at` on is taken off those in [from, to).
static void take_off(const job *j, int at, int size, int from, int to) {
    word bytes = bytes_of(j->type), line = (word)(j->left ? j->others : j->n);
    if (from == to) return;
    if (j->left)
        multiply(
            j->type, j->transposed, 0, to - from, j->others, size, -1, part(j, from, at), j->n,
            j->x + (word)at * line * bytes, j->others, 1, j->x + (word)from * line * bytes, j->others
        );
    else
        multiply(
            j->type, 0, j->transposed, j->others, to - from, size, -1, j->x + (word)at * bytes, j->n,
            part(j, at, from), j->n, 1, j->x + (word)from * bytes, j->n
        );
}

static void move(char *to, const char *from, word bytes) {
    if (bytes == sizeof(double))
        *(double *)to = *(const double *)from;
    else
        *(float *)to = *(const float *)from;
}

// to[k, i] = from[i, k], lines of both so many elements apart.
static void turn(const char *from, word from_line, char *to, word to_line, int rows, int columns, word bytes) {
    for (word row = 0; row < (word)rows; row++)
        for (word column = 0; column < (word)columns; column++)
            move(to + (column * to_line + row) * bytes, from + (row * from_line + column) * bytes, bytes);
}

// A block on the diagonal as a lower triangle whose unknowns are rows: turned for those on the right, and from the last
// one on for an upper one.
static void triangle(const job *j, int at, int size, int forward, char *t) {
    word bytes = bytes_of(j->type);
    int64_t row = (j->left ? part(j, at + 1, at) : part(j, at, at + 1)) - part(j, at, at);
    int64_t column = (j->left ? part(j, at, at + 1) : part(j, at + 1, at)) - part(j, at, at);
    const char *start = part(j, at, at);
    if (!forward) {
        start += (size - 1) * (row + column);
        row = -row, column = -column;
    }
    for (int i = 0; i < size; i++)
        for (int k = 0; k <= i; k++) move(t + (word)(i * BLOCK + k) * bytes, start + i * row + k * column, bytes);
}

static void solve_block(const job *j, int at, int size, int forward) {
    double t[BLOCK * BLOCK], turned[BLOCK * CHUNK];
    word bytes = bytes_of(j->type);
    triangle(j, at, size, forward, (char *)t);
    int64_t last = forward ? 0 : size - 1, way = forward ? 1 : -1;
    if (j->left) {
        char *x = j->x + ((word)at + (word)last) * (word)j->others * bytes;
        solve_small(j->type, size, j->unit, t, x, way * j->others, j->others);
        return;
    }
    for (int row = 0; row < j->others; row += CHUNK) {
        char *x = j->x + ((word)row * (word)j->n + (word)at) * bytes;
        int rows = j->others - row < CHUNK ? j->others - row : CHUNK;
        turn(x, (word)j->n, (char *)turned, CHUNK, rows, size, bytes);
        solve_small(j->type, size, j->unit, t, (char *)turned + (word)last * CHUNK * bytes, way * CHUNK, rows);
        turn((char *)turned, CHUNK, x, (word)j->n, size, rows, bytes);
    }
}

static void solve_blocks(const job *j) {
    int forward = (j->lower != j->transposed) == j->left;
    int blocks = (j->n + BLOCK - 1) / BLOCK;
    for (int i = 0; i < blocks; i++) {
        int at = (forward ? i : blocks - 1 - i) * BLOCK;
        int size = j->n - at < BLOCK ? j->n - at : BLOCK;
        solve_block(j, at, size, forward);
        take_off(j, at, size, forward ? at + size : 0, forward ? j->n : at);
    }
}

// Flags: whether the matrix is on the left, it is the lower triangle, transposed, and has a diagonal of ones.
void *hlograph_trsm(const frame *f) {
    if (is_question(f)) return 0;
    if (!is_call(f, 2, 4)) return refuse(f, "hlograph_trsm: other arguments than triangular systems have");
    const buffer *a = f->arguments.buffers[0], *b = f->arguments.buffers[1], *x = f->results.buffers[0];
    job j = {x->type, flag_of(f, 0), flag_of(f, 1), flag_of(f, 2), flag_of(f, 3), rows_of(a), 0, 0, 0};
    j.others = j.left ? columns_of(x) : rows_of(x);
    if (columns_of(a) != j.n || (j.left ? rows_of(x) : columns_of(x)) != j.n || rows_of(b) != rows_of(x) ||
        columns_of(b) != columns_of(x))
        return refuse(f, "hlograph_trsm: sizes that do not agree");
    word count = count_of(x), size = bytes_of(x->type) * (word)j.n;
    if (x->data != b->data) memcpy(x->data, b->data, count * size * (word)j.others);
    for (word i = 0; i < count; i++) {
        j.a = (const char *)a->data + i * size * (word)j.n;
        j.x = (char *)x->data + i * size * (word)j.others;
        solve_blocks(&j);
    }
    return 0;
}

// The factor of the lower triangle: block columns from what is known of those before them.
static int factor_blocks(int type, int n, char *a) {
    word bytes = bytes_of(type), line = (word)n * bytes;
    for (int at = 0; at < n; at += BLOCK) {
        int size = n - at < BLOCK ? n - at : BLOCK, rest = n - at - size;
        char *rows = a + (word)at * line, *diagonal = rows + (word)at * bytes;
        if (at) multiply(type, 0, 1, n - at, size, at, -1, rows, n, rows, n, 1, diagonal, n);
        if (factor(type, 1, size, diagonal, n)) return 1;
        job panel = {type, 0, 1, 1, 0, n, rest, a, a + (word)(at + size) * line};
        if (rest) solve_block(&panel, at, size, 1);
    }
    return 0;
}

static void fill(int type, void *a, word from, word to, int nan) {
    for (word i = from; i < to; i++)
        if (type == DOUBLE)
            ((word *)a)[i] = nan ? 0x7ff8000000000000 : 0;
        else
            ((uint32_t *)a)[i] = nan ? 0x7fc00000 : 0;
}

// The other triangle becomes zero; where there is no factor, this one becomes NaN.
static void finish(int type, int lower, int n, int failed, void *a) {
    for (int row = 0; row < n; row++) {
        word start = (word)row * (word)n, end = start + (word)n, diagonal = start + (word)row;
        if (failed) fill(type, a, start, end, 1);
        if (lower)
            fill(type, a, diagonal + 1, end, 0);
        else
            fill(type, a, start, diagonal, 0);
    }
}

// Flag: whether it is the lower triangle.
void *hlograph_potrf(const frame *f) {
    if (is_question(f)) return 0;
    if (!is_call(f, 1, 1)) return refuse(f, "hlograph_potrf: other arguments than Cholesky factors have");
    const buffer *a = f->arguments.buffers[0], *l = f->results.buffers[0];
    int n = rows_of(l), lower = flag_of(f, 0);
    if (columns_of(l) != n || rows_of(a) != n || columns_of(a) != n)
        return refuse(f, "hlograph_potrf: sizes that do not agree");
    word count = count_of(l), size = bytes_of(l->type) * (word)n * (word)n;
    if (l->data != a->data) memcpy(l->data, a->data, count * size);
    for (word i = 0; i < count; i++) {
        char *at = (char *)l->data + i * size;
        int failed = lower ? factor_blocks(l->type, n, at) : factor(l->type, 0, n, at, n);
        finish(l->type, lower, n, failed, at);
    }
    return 0;
}
