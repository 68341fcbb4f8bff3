#include "rate.h"

#include <math.h>

struct rvec_rate rvec_rate_make(double ns_per_tick) {
    struct rvec_rate rate = {0, 0};
    if (!isfinite(ns_per_tick) || ns_per_tick < 1e-3 || ns_per_tick > 1e6) {
        return rate;
    }
    rate.shift = RVEC_INLINE_SHIFT;
    while (ldexp(ns_per_tick, (int)rate.shift) >= 0x1p64) {
        rate.shift -= 1;
    }
    rate.mult = (uint64_t)ldexp(ns_per_tick, (int)rate.shift);
    return rate;
}

double rvec_rate_ns_per_tick(struct rvec_rate rate) {
    return ldexp((double)rate.mult, -(int)rate.shift);
}

uint64_t rvec_rate_ticks_at_least(struct rvec_rate rate, uint64_t ns) {
    uint64_t ticks = rvec_ns_to_ticks(rate, ns);
    while (rvec_ticks_to_ns(rate, ticks) < ns) {
        ticks += 1;
    }
    return ticks;
}
