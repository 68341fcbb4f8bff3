/* The process's timeline: one fold per core behind a sequence counter that is odd during an
 * update (Dutra 2015, section 6.1).
 *
 * A thread that updates may be preempted at any moment, and readers go on meanwhile: the old
 * folds and rate stay in one slot while the new ones are stored in the other, and a reader that
 * finds an odd generation computes the new fold by itself. The first reader that does so decides
 * at which counter value the new rate begins. */
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
    struct timeline_rate rate;  /* mult is 0 if only offsets change, for which readers wait */
    _Atomic uint64_t undecided; /* value of `counter` until a reader has decided it */
    _Atomic uint64_t counter;   /* at which the new folds begin */
    _Atomic uint64_t jumped;    /* the old folds end so many ticks before `counter` */
    _Atomic uint64_t age_ns;    /* time that passes during those ticks */
};

struct timeline {
    uint32_t generation; /* accessed by atomic built-ins: inlined readers in C++ see it too */
    uint32_t cores;
    struct timeline_rate slot[2]; /* [g / 2 % 2]: for an even generation g, and for g + 1 */
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

/* Copies one core's fold consistently; during an update, the new one, before its generation is
 * published. Returns 0 if updates followed each other without a pause. */
int rvec_timeline_view(struct timeline* timeline, struct timeline_counter counter, uint32_t core,
                       struct timeline_view* out);

/* The current rate; during an update, the old one. */
struct rvec_rate rvec_timeline_rate(const struct timeline* timeline);

/* The three updates; callers hold the lock. `counter` is on core 0's scale. */

/* Changes the rate at a counter value that is read once no reader uses the old rate any more.
 * With an earlier value, the readings in between would be at both rates, and the later of two
 * could be the smaller one. */
void rvec_timeline_change_rate(struct timeline* timeline, struct timeline_counter counter,
                               struct rvec_rate rate);
/* Records that the counter is now at `counter`, for whatever reason; the time there is `age_ns`
 * later than at `since`. */
void rvec_timeline_jump(struct timeline* timeline, uint64_t since, uint64_t counter,
                        uint64_t age_ns, struct rvec_rate rate);
/* Subtracts the offset of a core's counter from its readings from now on. */
void rvec_timeline_set_offset(struct timeline* timeline, uint32_t core, int64_t offset);

#endif
