// C functions over an executable's steps, which any number of threads may call at once.
//
// A call takes a workspace (the addresses of the inputs' buffers, and other buffers) from the program's slots, or makes
// one, and puts it back. Threads begin to look at slots of their own, which lie in cache lines of their own: else they
// would wait for one another's. Workspaces that no call has are at most 64 MiB together, or one: those that find no slot
// are freed.
#include "native.h"

enum { SLOTS = 64, ALIGNMENT = 64, NEAR = 4, LARGE = 1 << 20 };

// Words of a workspace: 0, its address, and those of the inputs' buffers. The address is 0 where words that are counted
// from these have not been written since one has changed.
enum { OWN = 1, PARAMETERS = 2 };

typedef struct {
    word place;  // of the argument's buffer in a workspace, in bytes; unused where it is `referred`
    word bytes;
    word referred;  // 1: always read where the caller has it; 2: also read there if it is aligned; 0: copied
} input;

typedef struct {
    word place, bytes;
} output;

typedef struct {
    word size;  // of a workspace in bytes
    int32_t (*run)(word *workspace);  // 0 unless a step failed
    word words;
    const struct {
        word at, base, number;  // the word at a place is the one at another, and a number
    } *word;
    word inputs;
    word given;  // how many of them the form `arrays` takes from the caller; the others are data
    const input *input;
    word outputs;
    const output *output;
    word checks;  // number of flags in the output behind the last one; none without that
    word flag;  // bytes of one: 1 for booleans; 4 or 8 for signed integers, which are positive if all is well
    const void *const *data;  // bound values of the data, or null
    word unused[4];
    struct {
        word workspace;
        word unused[ALIGNMENT / sizeof(word) - 1];
    } slots[SLOTS];
} program;

// The loader says where it is: this file is loaded anew for each program.
extern program hlograph_program;

// PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS: what is large goes back to the system when it is freed, which an
// allocator puts off.
static word *make(const program *p) {
    if (p->size < LARGE) {
        word *memory = aligned_alloc(ALIGNMENT, p->size);
        return memory ? memset(memory, 0, p->size) : 0;
    }
    void *memory = mmap(0, p->size, 3, 0x22, -1, 0);
    return memory == (void *)-1 ? 0 : memory;
}

static void drop(const program *p, void *memory) {
    if (p->size < LARGE)
        free(memory);
    else if (memory)
        munmap(memory, p->size);
}

// Where the calling thread begins to look.
static word first_slot(void) {
    word thread = (word)__builtin_thread_pointer();
    return (thread ^ thread >> 12 ^ thread >> 20) % SLOTS;
}

// The slots that a program uses, and how many of them a thread looks at: where memory is worth more than time there are
// fewer, and other threads' workspaces are taken.
typedef struct {
    word all, seen;
} range;

static range slots_of(const program *p) {
    if (p->size < LARGE) return (range){SLOTS, NEAR};
    word kept = SLOTS * (word)LARGE / p->size;
    return kept ? (range){kept, kept} : (range){1, 1};
}

static word *take(program *p) {
    range slots = slots_of(p);
    word first = first_slot();
    for (word i = 0; i < slots.seen; i++) {
        word *slot = &p->slots[(first + i) % slots.all].workspace;
        if (!__atomic_load_n(slot, __ATOMIC_RELAXED)) continue;
        word found = __atomic_exchange_n(slot, 0, __ATOMIC_ACQUIRE);
        if (found) return (word *)found;
    }
    return make(p);
}

static void give(program *p, word *memory) {
    range slots = slots_of(p);
    word first = first_slot();
    for (word i = 0; i < slots.seen; i++) {
        word *slot = &p->slots[(first + i) % slots.all].workspace, empty = 0;
        if (__atomic_load_n(slot, __ATOMIC_RELAXED)) continue;
        if (__atomic_compare_exchange_n(slot, &empty, (word)memory, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
    }
    drop(p, memory);
}

// Frees the workspaces that no call has.
void hlograph_release(void) {
    program *p = &hlograph_program;
    for (int i = 0; i < SLOTS; i++) drop(p, (void *)__atomic_exchange_n(&p->slots[i].workspace, 0, __ATOMIC_ACQUIRE));
}

static int put(word *memory, word number, const input *in, const void *given) {
    word address = (word)given;
    if (!given && in->bytes) return NULL_POINTER;
    if (in->referred == 1 && address % ALIGNMENT) return NOT_ALIGNED;
    if (!in->referred || !given || address % ALIGNMENT) {
        address = (word)memory + in->place;
        memcpy((void *)address, given, in->bytes);
    }
    if (memory[PARAMETERS + number] != address) {
        memory[PARAMETERS + number] = address;
        memory[OWN] = 0;
    }
    return FINE;
}

static long flag(const program *p, const char *memory, word number) {
    const char *at = memory + p->output[p->outputs].place + number * p->flag;
    if (p->flag == 1) return *(const signed char *)at;
    return p->flag == 4 ? *(const int32_t *)at : *(const int64_t *)at;
}

static void get(void *to, const word *memory, const output *out) {
    memcpy(to, (const char *)memory + out->place, out->bytes);
}

static int finite(const double *values, word count) {
    word bad = 0;
    const word *bits = (const word *)values;
    for (word i = 0; i < count; i++) bad |= (bits[i] & 0x7ff0000000000000) == 0x7ff0000000000000;
    return !bad;
}

// Puts a call's arguments, and runs.
static int call(program *p, word *memory, const void *const *inputs, word given, const void *user) {
    const void *const *data = user ? (const void *const *)user : p->data;
    int code = FINE;
    if (!data && given < p->inputs) return NULL_POINTER;
    for (word i = 0; i < p->inputs && !code; i++)
        code = put(memory, i, &p->input[i], i < given ? inputs[i] : data[i - given]);
    if (!code && !memory[OWN]) {
        memory[OWN] = (word)memory;
        for (word i = 0; i < p->words; i++)
            memory[p->word[i].at] = memory[p->word[i].base] + p->word[i].number;
    }
    if (!code && p->run(memory)) code = STEP_FAILED;
    for (word i = 0; i < p->checks && !code; i++)
        if (flag(p, (char *)memory, i) <= 0) code = CHECK_FAILED - (int)i;
    return code;
}

long hlograph_arrays(const void *const *inputs, void *const *outputs, const void *user) {
    program *p = &hlograph_program;
    if ((p->given && !inputs) || (p->outputs && !outputs)) return NULL_POINTER;
    for (word i = 0; i < p->outputs; i++)
        if (!outputs[i] && p->output[i].bytes) return NULL_POINTER;
    word *memory = take(p);
    if (!memory) return NO_MEMORY;
    int code = call(p, memory, inputs, p->given, user);
    for (word i = 0; i < p->outputs && !code; i++) get(outputs[i], memory, &p->output[i]);
    give(p, memory);
    return code;
}

long hlograph_logp(size_t dim, const double *x, double *gradient, double *logp, const void *user) {
    program *p = &hlograph_program;
    if (dim * sizeof(double) != p->input[0].bytes) return WRONG_DIMENSION;
    if ((dim && (!x || !gradient)) || !logp) return NULL_POINTER;
    word *memory = take(p);
    if (!memory) return NO_MEMORY;
    const void *const inputs[] = {x};
    int code = call(p, memory, inputs, 1, user);
    if (!code) {
        get(logp, memory, &p->output[0]);
        get(gradient, memory, &p->output[1]);
    }
    give(p, memory);
    if (code) return code <= CHECK_FAILED ? -code : code;  // samplers go on from another point where a code is positive
    if (!finite(gradient, dim)) return GRADIENT_NOT_FINITE;
    return finite(logp, 1) ? FINE : LOGP_NOT_FINITE;
}

// The same where there is no divergence: a point that is not finite has the density 0.
long hlograph_density(size_t dim, const double *x, double *gradient, double *logp, const void *user) {
    long code = hlograph_logp(dim, x, gradient, logp, user);
    if (code <= FINE) return code;
    for (size_t i = 0; i < dim; i++) gradient[i] = 0;
    *logp = -__builtin_inf();
    return FINE;
}

long hlograph_expand(size_t dim, size_t expanded, const double *x, double *out, const void *user) {
    program *p = &hlograph_program;
    if (dim * sizeof(double) != p->input[0].bytes || expanded * sizeof(double) != p->output[0].bytes)
        return WRONG_DIMENSION;
    if ((dim && !x) || (expanded && !out)) return NULL_POINTER;
    word *memory = take(p);
    if (!memory) return NO_MEMORY;
    const void *const inputs[] = {x};
    int code = call(p, memory, inputs, 1, user);
    if (!code) get(out, memory, &p->output[0]);
    give(p, memory);
    return code;
}
