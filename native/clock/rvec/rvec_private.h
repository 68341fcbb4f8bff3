/* Declarations shared by rvec.c and reader.c. */
#ifndef AFERIR_CLOCK_RVEC_PRIVATE_H
#define AFERIR_CLOCK_RVEC_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "calibration.h"
#include "forks.h"
#include "offsets.h"
#include "timeline.h"

struct rvec {
    struct timeline timeline;
    struct rvec_source source;
    enum rvec_invariance invariance;
    uint64_t id; /* number of this opening; never reused */
    /* the hardware counter is used, at a rate that the inlined read can convert */
    int inline_reads;
    int keep_rate;
    uint32_t limit;              /* ticks without a reading after which the counter is checked */
    _Atomic uint64_t checked_at; /* counter at the last check */
    _Atomic uint64_t process_last_ns; /* highest reading that is known to all threads */

    struct fork_member forks;
    pthread_mutex_t lock; /* protects the fields below, and updates of the timeline */
    struct witness witness;
    struct calibration calibration;
    double suspect; /* apparent ns per tick when the last check found a jump; else 0 */
    uint64_t jumps;
    uint64_t rate_changes;
    _Atomic uint64_t doubt_ns;
    _Atomic uint64_t rate_changes_sum_ppt; /* in 10^-12 */
    struct offset* offsets;                /* as measured; those applied are in the timeline */
    unsigned char* offset_measured;
    int64_t* applied; /* the timeline's offsets, for calibration_look */
};

struct rvec_rate rvec_current_rate(const struct rvec* rvec);

/* Converts a reading of the counter to core 0's scale. */
uint64_t rvec_common_counter(const struct rvec* rvec, struct rvec_reading reading);

/* Describes how the timeline is to read the counter, on core 0's scale. */
struct timeline_counter rvec_timeline_counter(const struct rvec* rvec);

/* Cross-checks, unless another thread is doing so: then it returns 0. `watched`: the reader saw
 * no extraordinary step. */
int rvec_try_check(struct rvec* rvec, int watched);

#endif
