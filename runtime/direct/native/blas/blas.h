// What functions of XLA's foreign function interface get (xla/ffi/api/c_api.h), and those of BLAS and LAPACK, of which the
// loader is given the addresses.
#ifndef HLOGRAPH_BLAS_H
#define HLOGRAPH_BLAS_H

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

// An error, which makes the call fail.
void *refuse(const frame *f, const char *message);

// Whether it is asked what the function is, which is answered then.
int is_question(const frame *f);

// Whether the call is one of so many stacks of matrices to one, of the same type and number, and so many booleans.
int is_call(const frame *f, int64_t arguments, int64_t flags);

int flag_of(const frame *f, int number);  // in the order of their names
int rows_of(const buffer *b);
int columns_of(const buffer *b);
word count_of(const buffer *b);  // of matrices

word bytes_of(int type);

// c = scale * c + factor * op(a) op(b), by rows: op(a) has `rows` rows, and lines are so many elements apart.
void multiply(
    int type, int a_transposed, int b_transposed, int rows, int columns, int depth, double factor, const void *a,
    int a_line, const void *b, int b_line, double scale, void *c, int c_line
);

enum { BLOCK = 32 };

// Solves t x = b for a lower triangle of at most BLOCK rows, which are BLOCK elements apart; x is where b was, by rows
// that are `line` elements apart.
void solve_small(int type, int n, int unit, const void *t, void *x, int64_t line, int count);

// The factor of the lower triangle by rows, or of the upper one, in its place; 0 where there is one.
int factor(int type, int lower, int n, void *a, int line);

#endif
