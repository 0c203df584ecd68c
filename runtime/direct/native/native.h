// What `runtime/direct` builds in Python and this code runs: tables of steps, and C functions over them.
//
// Everything is made of 64-bit words that Python writes into arrays; the structs below name them. Python's side is
// `image.py`, in the same order.
#ifndef HLOGRAPH_NATIVE_H
#define HLOGRAPH_NATIVE_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t word;

// What C functions return. Python's names of them are in `c_function.py`.
enum code {
    FINE = 0,
    GRADIENT_NOT_FINITE = 3,  // both as nutpie's own functions have them
    LOGP_NOT_FINITE = 4,
    WRONG_DIMENSION = -1,
    NULL_POINTER = -2,
    STEP_FAILED = -3,
    NO_MEMORY = -4,
    NOT_ALIGNED = -6,
    CHECK_FAILED = -100,  // less the number of the check
};

// A step: what it is, and words of its own.
enum { LINE = 8 };
typedef word line[LINE];
enum step {
    END = 0,
    KERNEL = 1,  // function, call frame
    COPY = 2,  // destination, source, bytes
    GROUPS = 3,  // a kernel, for each of its work groups: function, call frame
    WHILE = 4,  // tables of the condition and of the body, predicate, whether the number of turns is known, it
    CASE = 5,  // index, its bytes, number of branches, their tables
    SORT = 6,  // a `sort`
    CUSTOM_CALL = 7,  // function, XLA_FFI_CallFrame
};

typedef struct {
    word comparator;
    word count;  // of arrays
    word outer, length, inner;  // their shape in memory; the second axis is sorted
    word scratch;  // of 8 bytes for each element of a row, and those of an element of the array with the largest
    struct {
        word start, bytes;  // address; bytes of an element
    } array[];
} sort;

void run_sort(const sort *what);

// Runs steps up to END. Floating point is to be as XLA's threads have it. 0, or the address of the line that failed.
const word *run_steps(const word *table);

// The same where floating point is the caller's.
const word *hlograph_run(const word *table);

// Functions of the C library, and nothing else from outside.
void *memcpy(void *to, const void *from, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);
void *mmap(void *at, size_t size, int protection, int flags, int file, long offset);
int munmap(void *memory, size_t size);

#endif
