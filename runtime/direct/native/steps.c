// Runs a table of steps: what XLA's runtime does for an executable, in one thread.
#include "native.h"

// XLA_CPU_KernelCallFrame
typedef struct {
    const word *groups;  // number of work groups {x, y, z}
    const word *group;  // this one's place among them
    word count;  // of buffers
    const word *buffers;  // address and size of each
} frame;

typedef void *kernel(const frame *);

const word *run_steps(const word *table) {
    for (const word *step = table;; step += LINE) {
        switch (step[0]) {
        case END:
            return 0;
        case KERNEL:
            if (((kernel *)step[1])((const frame *)step[2])) return step;
            break;
        case COPY:
            memcpy((void *)step[1], (const void *)step[2], step[3]);
            break;
        default:
            return step;
        }
    }
}

// Round to nearest, no traps, subnormal numbers are zero.
enum { MODE = 0x9fc0 };

// As XLA's threads have floating point; the caller's mode comes back afterwards.
const word *hlograph_run(const word *table) {
    unsigned int before, mode = MODE;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    __asm__ volatile("ldmxcsr %0" : : "m"(mode));
    const word *failed = run_steps(table);
    __asm__ volatile("ldmxcsr %0" : : "m"(before));
    return failed;
}
