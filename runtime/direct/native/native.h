// What `runtime/direct` calls: sorts, and C functions over an executable's steps.
//
// Everything is made of 64-bit words that Python writes; the structs below name them. Python's side is `steps.py` and
// `../c_function.py`, in the same order.
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

typedef struct {
    word comparator;
    word count;  // of arrays
    word outer, length, inner;  // their shape in memory; the second axis is sorted
    word scratch;  // of 8 bytes for each element of a row, and those of an element of the array with the largest
    struct {
        word start, bytes;  // address; bytes of an element
    } array[];
} sort;

void hlograph_sort(const sort *what);

// Functions of the C library, and nothing else from outside.
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);
void *mmap(void *at, size_t size, int protection, int flags, int file, long offset);
int munmap(void *memory, size_t size);

#endif
