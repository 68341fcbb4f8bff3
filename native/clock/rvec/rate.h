/* Ticks to nanoseconds by multiplication and shift, exact to 2^-64 ns. */
#ifndef AFERIR_CLOCK_RATE_H
#define AFERIR_CLOCK_RATE_H

#include <stdint.h>

#include "aferir/rvec.h"

__extension__ typedef unsigned __int128 rvec_wide;
__extension__ typedef __int128 rvec_signed_wide;

/* The rate of a counter that takes `ns_per_tick`; shift is RVEC_INLINE_SHIFT wherever the product
 * fits, so that the inlined read can be used. mult is 0 if the rate makes no sense. */
struct rvec_rate rvec_rate_make(double ns_per_tick);
double rvec_rate_ns_per_tick(struct rvec_rate rate);

/* Nanoseconds of `ticks`, either sign, as 64.64 fixed point. */
static inline rvec_signed_wide rate_fixed(struct rvec_rate rate, int64_t ticks) {
    rvec_signed_wide product = (rvec_signed_wide)ticks * (rvec_signed_wide)rate.mult;
    return (rvec_signed_wide)((rvec_wide)product << (64 - rate.shift));
}

static inline int64_t rate_ns(struct rvec_rate rate, int64_t ticks) {
    return (int64_t)(rate_fixed(rate, ticks) >> 64);
}

/* The fewest ticks that take at least `ns`. */
uint64_t rvec_rate_ticks_at_least(struct rvec_rate rate, uint64_t ns);

#endif
