/* Judges what has happened to the counter between two looks at counter and reference clock. */
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
    uint64_t elapsed_ns; /* time between the looks; after a jump not less than readers were given */
    uint64_t doubt_ns;   /* largest error of elapsed_ns, when it was not taken from the counter */
    struct rvec_rate rate; /* the new one, when the verdict is RVEC_RATE_CHANGED */
    double ns_per_tick;    /* apparent value between the looks; 0: unknown */
};

struct suspicion {
    double ns_per_tick; /* apparent value before the first look, if that found a jump; else 0 */
    /* Largest amount by which readings may have been ahead of true time. A jump that every
     * reader notices is corrected to the reference. A smaller one, which readers have followed,
     * stays: that a clock never goes back matters more than one wrong duration. */
    uint64_t given_out_ns;
};

/* One disagreement is a jump; two in a row at the same rate are a new rate. */
struct judgement rvec_judge(const struct witness* before, const struct witness* now,
                            struct rvec_rate rate, double uncertainty_ppb,
                            struct suspicion suspicion);

#endif
