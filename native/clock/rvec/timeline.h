/* The process's timeline: one fold per core behind a sequence counter that is odd during an
 * update (Dutra 2015, section 6.1).
 *
 * A thread that updates may be preempted at any moment, and readers go on meanwhile: the folds and
 * the rate of before stay in one slot while those to come are stored in the other, and a reader
 * that meets an odd generation computes the fold to come by itself. The first of them all that has
 * seen the odd generation decides at which counter the new rate begins. */
#ifndef AFERIR_CLOCK_TIMELINE_H
#define AFERIR_CLOCK_TIMELINE_H

#include <stdatomic.h>
#include <stdint.h>

#include "fold.h"

enum { TIMELINE_CORES = 4096 }; /* Linux puts the CPU into the low 12 bits of IA32_TSC_AUX */

struct timeline_fold {
    _Atomic uint64_t base_counter;
    _Atomic uint64_t age_time_ns;
    _Atomic uint64_t age_fraction;
};

struct timeline_core {
    struct timeline_fold slot[2];
    _Atomic uint64_t last_ns; /* highest reading given out by rvec_core_read */
    int64_t offset;           /* counter of this core minus core 0's; written under the lock */
};

struct timeline_rate {
    _Atomic uint64_t mult;
    _Atomic uint32_t shift;
};

/* An update, as readers see it while the generation is odd. Counters are on core 0's scale. */
struct timeline_update {
    struct timeline_rate rate;  /* mult is 0 where offsets alone change, which readers wait for */
    _Atomic uint64_t undecided; /* value of `counter` until somebody decides */
    _Atomic uint64_t counter;   /* where the new folds begin */
    _Atomic uint64_t jumped;    /* ticks before `counter` at which the old ones end */
    _Atomic uint64_t age_ns;    /* of these ticks */
};

struct timeline {
    uint32_t generation; /* accessed by atomic built-ins: inlined readers in C++ see it too */
    uint32_t cores;
    struct timeline_rate slot[2]; /* that of an even generation g, and of g + 1: g / 2 % 2 */
    struct timeline_update update;
    struct timeline_core* core;
};

/* Reads the counter on core 0's scale. */
struct timeline_counter {
    uint64_t (*now)(const void* context);
    const void* context;
};

struct timeline_view {
    struct fold fold;
    struct rvec_rate rate;
    uint32_t generation;
};

int rvec_timeline_init(struct timeline* timeline, uint32_t cores, uint64_t counter,
                       struct rvec_rate rate);
void rvec_timeline_destroy(struct timeline* timeline);

/* A consistent copy of one core's fold; during an update, of the one to come, whose generation is
 * not there yet. 0 where updates followed each other without a pause. */
int rvec_timeline_view(struct timeline* timeline, struct timeline_counter counter, uint32_t core,
                       struct timeline_view* out);

/* The rate of now; during an update, of before. */
struct rvec_rate rvec_timeline_rate(const struct timeline* timeline);

/* The three updates; callers hold the lock. `counter` is on core 0's scale. */

/* Goes on at another rate from a counter that is read once no reader uses the old rate any more:
 * folded at an earlier one, the readings in between would be at both rates, and the later of two
 * could be the smaller. */
void rvec_timeline_change_rate(struct timeline* timeline, struct timeline_counter counter,
                               struct rvec_rate rate);
/* The counter has arrived at `counter` by whatever way; the time there is `age_ns` later than at
 * `since`. */
void rvec_timeline_jump(struct timeline* timeline, uint64_t since, uint64_t counter,
                        uint64_t age_ns, struct rvec_rate rate);
/* Takes the offset of a core's counter out of its readings from now on. */
void rvec_timeline_set_offset(struct timeline* timeline, uint32_t core, int64_t offset);

#endif
