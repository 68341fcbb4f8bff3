/* A virtual clock that is corrected like a system clock, without touching one: at once (as
 * settimeofday(2) would) or slewed at no more than 500 ppm (as adjtime(3) would). Pure functions of
 * the local clock's readings. */
#ifndef AFERIR_CLOCK_DISCIPLINED_H
#define AFERIR_CLOCK_DISCIPLINED_H

#include <stdint.h>

#define DISCIPLINED_SLEW 500e-6

struct disciplined {
    int slews;
    int64_t applied_ns;   /* corrections that are complete */
    int64_t remaining_ns; /* being slewed since `since_ns` of the local clock */
    uint64_t since_ns;
};

/* Part of the remaining correction that has been slewed by then. */
static inline int64_t disciplined_slewed(const struct disciplined* clock, uint64_t local_ns) {
    int64_t most = (int64_t)((double)(int64_t)(local_ns - clock->since_ns) * DISCIPLINED_SLEW);
    most = most < 0 ? 0 : most;
    if (clock->remaining_ns < 0) {
        return -most > clock->remaining_ns ? -most : clock->remaining_ns;
    }
    return most < clock->remaining_ns ? most : clock->remaining_ns;
}

static inline uint64_t disciplined_at(const struct disciplined* clock, uint64_t local_ns) {
    return local_ns + (uint64_t)(clock->applied_ns + disciplined_slewed(clock, local_ns));
}

/* Corrects the clock, which is behind by `offset_ns` at this reading. Replaces a slew in
   progress. */
static inline void disciplined_correct(struct disciplined* clock, uint64_t local_ns,
                                       int64_t offset_ns) {
    clock->applied_ns += disciplined_slewed(clock, local_ns);
    clock->since_ns = local_ns;
    clock->remaining_ns = offset_ns;
    if (!clock->slews) {
        clock->applied_ns += offset_ns;
        clock->remaining_ns = 0;
    }
}

#endif
