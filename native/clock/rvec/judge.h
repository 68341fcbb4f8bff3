/* What has happened to the counter between two looks at counter and reference clock? */
#ifndef AFERIR_CLOCK_JUDGE_H
#define AFERIR_CLOCK_JUDGE_H

#include <stdint.h>

#include "rate.h"

/* One look: a reference reading between two readings of the counter. */
struct witness {
    uint64_t counter; /* middle of the bracket, on core 0's scale */
    uint64_t width;   /* of the bracket, in ticks */
    uint64_t reference_ns;
    uint64_t suspended_ns;
};

struct judgement {
    enum rvec_verdict verdict;
    uint64_t elapsed_ns; /* time between the looks; after a jump never less than was read out */
    uint64_t doubt_ns;   /* what elapsed_ns may be off by, when it was not taken from the counter */
    struct rvec_rate rate; /* the new one, when the verdict is RVEC_RATE_CHANGED */
    double ns_per_tick;    /* as it seemed between the looks; 0 where nothing can be said */
};

struct suspicion {
    double ns_per_tick; /* as it seemed before the first look, when that found a jump; else 0 */
    /* How far ahead of true time readings may have been given out. What readers cannot have
     * missed is corrected to the reference; what they have followed stays, for a clock that never
     * goes back matters more than one false duration. */
    uint64_t given_out_ns;
};

/* One disagreement is a jump; two in a row at the same rate are a new rate. */
struct judgement rvec_judge(const struct witness* before, const struct witness* now,
                            struct rvec_rate rate, double uncertainty_ppb,
                            struct suspicion suspicion);

#endif
