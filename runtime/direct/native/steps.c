// Runs a table of steps: what XLA's runtime does for an executable, in one thread.
#include "native.h"

// XLA_CPU_KernelCallFrame
typedef struct {
    const word *groups;  // number of work groups {x, y, z}
    word *group;  // this one's place among them
    word count;  // of buffers
    const word *buffers;  // address and size of each
} frame;

typedef void *kernel(const frame *);
typedef void *handler(void *);

static int run_groups(kernel *function, const frame *f) {
    for (f->group[2] = 0; f->group[2] < f->groups[2]; f->group[2]++)
        for (f->group[1] = 0; f->group[1] < f->groups[1]; f->group[1]++)
            for (f->group[0] = 0; f->group[0] < f->groups[0]; f->group[0]++)
                if (function(f)) return 1;
    return 0;
}

// A number of turns, or as many as the predicate says, which the condition's steps compute.
static const word *run_while(const word *step) {
    const word *condition = (const word *)step[1], *body = (const word *)step[2], *failed;
    const volatile char *predicate = (const volatile char *)step[3];
    if (step[4]) {
        for (word turn = 0; turn < step[5]; turn++)
            if ((failed = run_steps(body))) return failed;
        return 0;
    }
    for (;;) {
        if ((failed = run_steps(condition))) return failed;
        if (!*predicate) return 0;
        if ((failed = run_steps(body))) return failed;
    }
}

// A boolean is true for the first branch; an index that is none is for the last one.
static const word *run_case(const word *step) {
    word branches = step[3], index;
    if (step[2] == 1)
        index = !*(const char *)step[1];
    else
        index = *(const uint32_t *)step[1];
    if (index >= branches) index = branches - 1;
    return run_steps((const word *)((const word *)step[4])[index]);
}

const word *run_steps(const word *table) {
    const word *failed;
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
        case GROUPS:
            if (run_groups((kernel *)step[1], (const frame *)step[2])) return step;
            break;
        case WHILE:
            if ((failed = run_while(step))) return failed;
            break;
        case CASE:
            if ((failed = run_case(step))) return failed;
            break;
        case SORT:
            run_sort((const sort *)step[1]);
            break;
        case CUSTOM_CALL:
            if (((handler *)step[1])((void *)step[2])) return step;
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
