// BLAS and LAPACK for matrices by rows: those by columns are their transposes.
#include "blas.h"

#define GEMM(name, type)                                                                                              \
    void name(                                                                                                        \
        const char *, const char *, const int *, const int *, const int *, const type *, const type *, const int *,  \
        const type *, const int *, const type *, type *, const int *                                                 \
    )
#define POTRF(name, type) void name(const char *, const int *, type *, const int *, int *)

GEMM(hlograph_sgemm, float);
GEMM(hlograph_dgemm, double);
POTRF(hlograph_spotrf, float);
POTRF(hlograph_dpotrf, double);

void *refuse(const frame *f, const char *message) {
    error arguments = {sizeof(error), 0, message, INVALID_ARGUMENT};
    return f->api->error(&arguments);
}

int is_question(const frame *f) {
    if (!f->extension || f->extension->type != METADATA) return 0;
    metadata *known = ((metadata_extension *)f->extension)->metadata;
    known->version.major = f->api ? f->api->version.major : 0;
    known->version.minor = f->api ? f->api->version.minor : 1;  // earlier releases ask without an interface
    known->traits = 0;
    return 1;
}

static int is_stack(const buffer *b, const buffer *like) {
    if (b->type != like->type || b->rank != like->rank || b->rank < 2) return 0;
    for (int64_t axis = 0; axis < b->rank; axis++)
        if (b->dims[axis] < 1 || b->dims[axis] > INT32_MAX) return 0;
    for (int64_t axis = 0; axis + 2 < b->rank; axis++)
        if (b->dims[axis] != like->dims[axis]) return 0;
    return b->type == FLOAT || b->type == DOUBLE;
}

int is_call(const frame *f, int64_t arguments, int64_t flags) {
    const attributes *a = &f->attributes;
    if (f->stage != EXECUTE) return 0;
    if (f->arguments.count != arguments || f->results.count != 1 || a->count != flags) return 0;
    for (int64_t i = 0; i < flags; i++)
        if (a->types[i] != SCALAR || a->values[i]->type != BOOLEAN) return 0;
    const buffer *result = f->results.buffers[0];
    for (int64_t i = 0; i < arguments; i++)
        if (!is_stack(f->arguments.buffers[i], result)) return 0;
    return is_stack(result, result);
}

int flag_of(const frame *f, int number) { return *f->attributes.values[number]->value & 1; }
int rows_of(const buffer *b) { return (int)b->dims[b->rank - 2]; }
int columns_of(const buffer *b) { return (int)b->dims[b->rank - 1]; }

word count_of(const buffer *b) {
    word count = 1;
    for (int64_t axis = 0; axis + 2 < b->rank; axis++) count *= (word)b->dims[axis];
    return count;
}

word bytes_of(int type) { return type == DOUBLE ? sizeof(double) : sizeof(float); }

// BLAS starts its threads from 2^18 multiplications on. They wait for one another, a thousand times as long as they compute
// where the machine is busy: so they are left out below 2^26, by products of parts.
static const word ALONE = 1 << 18, THREADS = 1 << 26;
enum { PART = 64 };

static int least(int a, int b) { return a < b ? a : b; }

// c' = b' a'
static void product(
    int type, const char *a_turned, const char *b_turned, int rows, int columns, int depth, double factor,
    const void *a, int a_line, const void *b, int b_line, double scale, void *c, int c_line
) {
    float single[2] = {(float)factor, (float)scale};
    if (type == DOUBLE)
        hlograph_dgemm(
            b_turned, a_turned, &columns, &rows, &depth, &factor, b, &b_line, a, &a_line, &scale, c, &c_line
        );
    else
        hlograph_sgemm(
            b_turned, a_turned, &columns, &rows, &depth, &single[0], b, &b_line, a, &a_line, &single[1], c, &c_line
        );
}

static const char *element(const void *a, int type, int line, int transposed, int row, int column) {
    word first = (word)(transposed ? column : row), second = (word)(transposed ? row : column);
    return (const char *)a + (first * (word)line + second) * bytes_of(type);
}

void multiply(
    int type, int a_transposed, int b_transposed, int rows, int columns, int depth, double factor, const void *a,
    int a_line, const void *b, int b_line, double scale, void *c, int c_line
) {
    const char *first = a_transposed ? "T" : "N", *second = b_transposed ? "T" : "N";
    word work = (word)rows * (word)columns * (word)depth;
    int high = rows, wide = columns, deep = depth;
    if (work > ALONE && work < THREADS) {
        high = least(rows, PART), wide = least(columns, PART);
        deep = least(depth, (int)(ALONE / ((word)high * (word)wide)));
    }
    for (int row = 0; row < rows; row += high)
        for (int column = 0; column < columns; column += wide)
            for (int at = 0; at < depth; at += deep)
                product(
                    type, first, second, least(high, rows - row), least(wide, columns - column),
                    least(deep, depth - at), factor, element(a, type, a_line, a_transposed, row, at), a_line,
                    element(b, type, b_line, b_transposed, at, column), b_line, at ? 1 : scale,
                    (void *)element(c, type, c_line, 0, row, column), c_line
                );
}

int factor(int type, int lower, int n, void *a, int line) {
    const char *triangle = lower ? "U" : "L";
    int failed = 0;
    if (type == DOUBLE)
        hlograph_dpotrf(triangle, &n, a, &line, &failed);
    else
        hlograph_spotrf(triangle, &n, a, &line, &failed);
    return failed;
}
