// A stable sort of arrays by XLA's comparator, which sees pointers to the elements {left, right} of each array.
#include "native.h"

enum { MOST_ARRAYS = 16, RUN = 8 };

typedef void comparator(char *result, const void *, const void *const *elements, const void *, const void *, const void *);

typedef struct {
    const sort *what;
    const char *start[MOST_ARRAYS];  // of the row, in each array
    const void *elements[2 * MOST_ARRAYS];
} row;

static int before(row *r, uint32_t left, uint32_t right) {
    const sort *s = r->what;
    for (word i = 0; i < s->count; i++) {
        word step = s->inner * s->array[i].bytes;
        r->elements[2 * i] = r->start[i] + left * step;
        r->elements[2 * i + 1] = r->start[i] + right * step;
    }
    char result = 0;
    ((comparator *)s->comparator)(&result, 0, r->elements, 0, 0, 0);
    return result & 1;
}

static void insert(row *r, uint32_t *order, word from, word to) {
    for (word i = from + 1; i < to; i++) {
        uint32_t item = order[i];
        word at = i;
        for (; at > from && before(r, item, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = item;
    }
}

static void merge(row *r, const uint32_t *from, uint32_t *to, word low, word middle, word high) {
    word left = low, right = middle;
    for (word at = low; at < high; at++) {
        int second = left == middle || (right < high && before(r, from[right], from[left]));
        to[at] = second ? from[right++] : from[left++];
    }
}

// The places of a row's elements in their order: runs by insertion, then merged; `other` is of the same length.
static const uint32_t *ordered(row *r, word length, uint32_t *order, uint32_t *other) {
    for (word i = 0; i < length; i++) order[i] = (uint32_t)i;
    for (word low = 0; low < length; low += RUN) insert(r, order, low, low + RUN < length ? low + RUN : length);
    for (word width = RUN; width < length; width *= 2) {
        for (word low = 0; low < length; low += 2 * width) {
            word middle = low + width < length ? low + width : length;
            word high = low + 2 * width < length ? low + 2 * width : length;
            merge(r, order, other, low, middle, high);
        }
        uint32_t *last = order;
        order = other;
        other = last;
    }
    return order;
}

static void move(char *to, const char *from, word bytes) {
    if (bytes == 8)
        *(word *)to = *(const word *)from;
    else if (bytes == 4)
        *(uint32_t *)to = *(const uint32_t *)from;
    else
        memcpy(to, from, bytes);
}

static void permute(char *start, word bytes, word step, word length, const uint32_t *order, char *scratch) {
    for (word i = 0; i < length; i++) move(scratch + i * bytes, start + order[i] * step, bytes);
    for (word i = 0; i < length; i++) move(start + i * step, scratch + i * bytes, bytes);
}

void hlograph_sort(const sort *s) {
    row r = {s, {0}, {0}};
    uint32_t *orders = (uint32_t *)s->scratch;
    char *values = (char *)(orders + 2 * s->length);
    for (word outer = 0; outer < s->outer; outer++)
        for (word inner = 0; inner < s->inner; inner++) {
            for (word i = 0; i < s->count; i++)
                r.start[i] = (char *)s->array[i].start + (outer * s->length * s->inner + inner) * s->array[i].bytes;
            const uint32_t *order = ordered(&r, s->length, orders, orders + s->length);
            for (word i = 0; i < s->count; i++)
                permute((char *)r.start[i], s->array[i].bytes, s->inner * s->array[i].bytes, s->length, order, values);
        }
}
