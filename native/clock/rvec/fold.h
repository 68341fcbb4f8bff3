/* The state of one core's clock and its update rule (Dutra 2015, codes 6.1 and 6.2). */
#ifndef AFERIR_CLOCK_FOLD_H
#define AFERIR_CLOCK_FOLD_H

#include <stdint.h>

#include "rate.h"

struct fold {
    uint64_t base_counter; /* counter at the last update */
    uint64_t age_time_ns;  /* time accumulated until then */
    uint64_t age_fraction; /* and its part below a nanosecond, in 2^-64, so that folds lose none */
};

static inline rvec_wide fold_fixed(const struct fold* fold, struct rvec_rate rate,
                                   uint64_t counter) {
    rvec_wide age = ((rvec_wide)fold->age_time_ns << 64) | fold->age_fraction;
    return age + (rvec_wide)rate_fixed(rate, (int64_t)(counter - fold->base_counter));
}

/* Time at `counter`, which may lie shortly before the last update. */
static inline uint64_t fold_read(const struct fold* fold, struct rvec_rate rate, uint64_t counter) {
    return (uint64_t)(fold_fixed(fold, rate, counter) >> 64);
}

/* Folds what has passed at `rate` into the age and goes on from `counter`. */
static inline void fold_update(struct fold* fold, struct rvec_rate rate, uint64_t counter) {
    rvec_wide age = fold_fixed(fold, rate, counter);
    fold->age_time_ns = (uint64_t)(age >> 64);
    fold->age_fraction = (uint64_t)age;
    fold->base_counter = counter;
}

#endif
