/* The process's timeline: one fold per core behind a sequence counter that is odd during an
 * update, when no reader may use it (Dutra 2015, section 6.1). */
#ifndef AFERIR_CLOCK_TIMELINE_H
#define AFERIR_CLOCK_TIMELINE_H

#include <stdatomic.h>
#include <stdint.h>

#include "fold.h"

enum { TIMELINE_CORES = 4096 }; /* Linux puts the CPU into the low 12 bits of IA32_TSC_AUX */

struct timeline_core {
    _Atomic uint64_t base_counter;
    _Atomic uint64_t age_time_ns;
    _Atomic uint64_t age_fraction;
    _Atomic uint64_t last_ns; /* highest reading given out by rvec_core_read */
    int64_t offset;           /* counter of this core minus core 0's; written under the lock */
};

struct timeline {
    uint32_t generation; /* accessed by atomic built-ins: inlined readers in C++ see it too */
    uint32_t cores;
    _Atomic uint64_t mult;
    _Atomic uint32_t shift;
    struct timeline_core* core;
};

struct timeline_view {
    struct fold fold;
    struct rvec_rate rate;
    uint32_t generation;
};

int rvec_timeline_init(struct timeline* timeline, uint32_t cores, uint64_t counter,
                       struct rvec_rate rate);
void rvec_timeline_destroy(struct timeline* timeline);

/* A consistent copy of one core's fold. 0 when an update went on for too long, as it does for a
 * signal handler that has interrupted the update. */
int rvec_timeline_view(const struct timeline* timeline, uint32_t core, struct timeline_view* out);

/* The three updates; callers hold the lock. `counter` is on core 0's scale. */

/* Goes on at another rate from the counter that `now` reads. It is read once no reader uses the old
 * rate any more: folded at an earlier one, the readings in between would be at both rates, and the
 * later of two could be the smaller. */
void rvec_timeline_change_rate(struct timeline* timeline, uint64_t (*now)(const void* context),
                               const void* context, struct rvec_rate rate);
/* The counter has arrived at `counter` by whatever way; the time there is `age_ns` later than at
 * `since`. */
void rvec_timeline_jump(struct timeline* timeline, uint64_t since, uint64_t counter,
                        uint64_t age_ns, struct rvec_rate rate);
/* Takes the offset of a core's counter out of its readings from now on. */
void rvec_timeline_set_offset(struct timeline* timeline, uint32_t core, int64_t offset);

#endif
