// Matrix products by BLAS, as a function of XLA's foreign function interface (xla/ffi/api/c_api.h): so PJRT and direct
// calls run the same code. BLAS's functions are given to the loader by address.
#include "../native.h"

typedef struct extension {
    word size;
    int type;
    struct extension *next;
} extension;

typedef struct {
    word size;
    extension *extension;
    int major, minor;
} version;

typedef struct {
    word size;
    extension *extension;
    version version;
    const void *internal;
    void *(*error)(void *);
} api;

typedef struct {
    word size;
    extension *extension;
    const char *message;
    int code;
} error;

typedef struct {
    word size;
    version version;
    uint32_t traits;
} metadata;

typedef struct {
    extension base;
    metadata *metadata;
} metadata_extension;

typedef struct {
    word size;
    extension *extension;
    int type;
    void *data;
    int64_t rank;
    const int64_t *dims;
} buffer;

typedef struct {
    word size;
    extension *extension;
    int64_t count;
    const int *types;
    buffer *const *buffers;
} buffers;

typedef struct {
    int type;
    const char *value;
} scalar;

typedef struct {
    word size;
    extension *extension;
    int64_t count;
    const int *types;
    const void *const *names;
    const scalar *const *values;  // sorted by name
} attributes;

typedef struct {
    word size;
    extension *extension;
    const api *api;
    void *context;
    int stage;
    buffers arguments, results;
    attributes attributes;
} frame;

enum { METADATA = 1, EXECUTE = 3, BOOLEAN = 1, FLOAT = 11, DOUBLE = 12, SCALAR = 3, INVALID_ARGUMENT = 3 };

// In BLAS's order: whether to transpose, sizes, factor, matrices by columns.
#define GEMM(name, type)                                                                                            \
    void name(                                                                                                        \
        const char *, const char *, const int *, const int *, const int *, const type *, const type *, const int *,  \
        const type *, const int *, const type *, type *, const int *                                                 \
    )
GEMM(hlograph_sgemm, float);
GEMM(hlograph_dgemm, double);

static void *refuse(const frame *f, const char *message) {
    error arguments = {sizeof(error), 0, message, INVALID_ARGUMENT};
    return f->api->error(&arguments);
}

static void *describe(const frame *f) {
    metadata *known = ((metadata_extension *)f->extension)->metadata;
    known->version.major = f->api->version.major;
    known->version.minor = f->api->version.minor;
    known->traits = 0;
    return 0;
}

typedef struct {
    int transposed;
    int rows, columns;  // as they lie in memory
} matrix;

static matrix of(const buffer *b, int transposed) {
    return (matrix){transposed, (int)b->dims[b->rank - 2], (int)b->dims[b->rank - 1]};
}

static int as_types_say(const frame *f) {
    const attributes *a = &f->attributes;
    if (f->arguments.count != 2 || f->results.count != 1 || a->count != 2) return 0;
    for (int i = 0; i < 2; i++)
        if (a->types[i] != SCALAR || a->values[i]->type != BOOLEAN) return 0;
    const buffer *all[3] = {f->arguments.buffers[0], f->arguments.buffers[1], f->results.buffers[0]};
    for (int i = 0; i < 3; i++) {
        if (all[i]->type != all[0]->type || all[i]->rank != all[0]->rank || all[i]->rank < 2) return 0;
        for (int64_t axis = 0; axis < all[i]->rank; axis++)
            if (all[i]->dims[axis] < 1 || all[i]->dims[axis] > INT32_MAX) return 0;
        for (int64_t axis = 0; axis + 2 < all[i]->rank; axis++)
            if (all[i]->dims[axis] != all[0]->dims[axis]) return 0;
    }
    return all[0]->type == FLOAT || all[0]->type == DOUBLE;
}

// Arrays in row-major order are transposed matrices by columns: y' = b' a'.
void *hlograph_gemm(const frame *f) {
    if (f->extension && f->extension->type == METADATA) return describe(f);
    if (f->stage != EXECUTE || !as_types_say(f)) return refuse(f, "hlograph_gemm: other arguments than products have");
    const buffer *y = f->results.buffers[0], *inputs[2] = {f->arguments.buffers[0], f->arguments.buffers[1]};
    matrix a = of(inputs[0], *f->attributes.values[0]->value & 1);
    matrix b = of(inputs[1], *f->attributes.values[1]->value & 1);
    matrix out = of(y, 0);
    int rows = a.transposed ? a.columns : a.rows, depth = a.transposed ? a.rows : a.columns;
    int columns = b.transposed ? b.rows : b.columns;
    if (depth != (b.transposed ? b.columns : b.rows) || out.rows != rows || out.columns != columns)
        return refuse(f, "hlograph_gemm: sizes that do not agree");
    const char *first = b.transposed ? "T" : "N", *second = a.transposed ? "T" : "N";
    word count = 1;
    for (int64_t axis = 0; axis + 2 < y->rank; axis++) count *= (word)y->dims[axis];
    for (word i = 0; i < count; i++) {
        word at = i * (word)a.rows * (word)a.columns, with = i * (word)b.rows * (word)b.columns;
        word to = i * (word)rows * (word)columns;
        if (y->type == DOUBLE) {
            const double one = 1, zero = 0, *x = inputs[0]->data, *z = inputs[1]->data;
            hlograph_dgemm(
                first, second, &columns, &rows, &depth, &one, z + with, &b.columns, x + at, &a.columns, &zero,
                (double *)y->data + to, &columns
            );
        } else {
            const float one = 1, zero = 0, *x = inputs[0]->data, *z = inputs[1]->data;
            hlograph_sgemm(
                first, second, &columns, &rows, &depth, &one, z + with, &b.columns, x + at, &a.columns, &zero,
                (float *)y->data + to, &columns
            );
        }
    }
    return 0;
}
