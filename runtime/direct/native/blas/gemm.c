// Products of stacks of matrices.
#include "blas.h"

// op(a) op(b); flags: whether the left and the right one are transposed.
void *hlograph_gemm(const frame *f) {
    if (is_question(f)) return 0;
    if (!is_call(f, 2, 2)) return refuse(f, "hlograph_gemm: other arguments than products have");
    const buffer *a = f->arguments.buffers[0], *b = f->arguments.buffers[1], *c = f->results.buffers[0];
    int left = flag_of(f, 0), right = flag_of(f, 1), rows = rows_of(c), columns = columns_of(c);
    int depth = left ? rows_of(a) : columns_of(a);
    if ((left ? columns_of(a) : rows_of(a)) != rows || (right ? rows_of(b) : columns_of(b)) != columns ||
        (right ? columns_of(b) : rows_of(b)) != depth)
        return refuse(f, "hlograph_gemm: sizes that do not agree");
    word bytes = bytes_of(c->type);
    word a_step = bytes * (word)rows * (word)depth, b_step = bytes * (word)depth * (word)columns;
    word c_step = bytes * (word)rows * (word)columns, count = count_of(c);
    for (word i = 0; i < count; i++)
        multiply(
            c->type, left, right, rows, columns, depth, 1, (char *)a->data + i * a_step, columns_of(a),
            (char *)b->data + i * b_step, columns_of(b), 0, (char *)c->data + i * c_step, columns
        );
    return 0;
}
