// Triangular systems with matrices of at most BLOCK rows. BLAS has threads of its own for them, which take thousands of
// times as long as the solve where the machine is busy, and kernels that are no faster than these loops.
#include "blas.h"

// The loops are compiled for each kind of vectors that a processor may have.
#define WIDE __attribute__((target("avx512f,fma"), optimize("O3,unroll-loops")))
#define MIDDLE __attribute__((target("avx2,fma"), optimize("O3,unroll-loops")))
#define NARROW __attribute__((optimize("O3")))

enum { LANES = 32 };  // right-hand sides that are solved together

// t: a lower triangle; x: unknowns by rows, `line` elements apart.
#define SOLVE(name, type, wide)                                                                                       \
    wide static void name(int n, int unit, const type *t, type *x, int64_t line, int count) {                          \
        int start = 0;                                                                                                \
        for (; start + LANES <= count; start += LANES)                                                                \
            for (int i = 0; i < n; i++) {                                                                             \
                type sums[LANES], *row = x + i * line + start;                                                  \
                for (int w = 0; w < LANES; w++) sums[w] = row[w];                                                     \
                for (int j = 0; j < i; j++) {                                                                         \
                    const type *known = x + j * line + start, factor = t[i * BLOCK + j];                        \
                    for (int w = 0; w < LANES; w++) sums[w] -= factor * known[w];                                     \
                }                                                                                                     \
                for (int w = 0; w < LANES; w++) row[w] = unit ? sums[w] : sums[w] / t[i * BLOCK + i];                 \
            }                                                                                                         \
        for (int i = 0; start < count && i < n; i++) {                                                                \
            type *row = x + i * line;                                                                           \
            for (int j = 0; j < i; j++)                                                                               \
                for (int w = start; w < count; w++) row[w] -= t[i * BLOCK + j] * x[j * line + w];               \
            for (int w = start; w < count && !unit; w++) row[w] /= t[i * BLOCK + i];                                  \
        }                                                                                                             \
    }

SOLVE(double_wide, double, WIDE)
SOLVE(double_middle, double, MIDDLE)
SOLVE(double_narrow, double, NARROW)
SOLVE(single_wide, float, WIDE)
SOLVE(single_middle, float, MIDDLE)
SOLVE(single_narrow, float, NARROW)

// The loader gives this an address that says which vectors there are: 3 for AVX-512, 2 for AVX2 with FMA, else 1.
extern const char hlograph_vectors[];

void solve_small(int type, int n, int unit, const void *t, void *x, int64_t line, int count) {
    word vectors = (word)hlograph_vectors;
    if (type == DOUBLE)
        (vectors == 3 ? double_wide : vectors == 2 ? double_middle : double_narrow)(n, unit, t, x, line, count);
    else
        (vectors == 3 ? single_wide : vectors == 2 ? single_middle : single_narrow)(n, unit, t, x, line, count);
}
