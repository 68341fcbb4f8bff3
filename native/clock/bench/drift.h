/* A local clock with an injected offset and rate, over an rvec. */
#ifndef AFERIR_CLOCK_DRIFT_H
#define AFERIR_CLOCK_DRIFT_H

#include <math.h>

#include "aferir/rgap.h"

struct drifting_clock {
    struct rvec* rvec;
    double rate_ppm;
    uint64_t offset_ns;
};

/* Reading of the drifting clock at a reading of the rvec. */
static inline uint64_t drifting_at(const struct drifting_clock* clock, uint64_t now) {
    return now + clock->offset_ns + (uint64_t)(int64_t)floor((double)now * clock->rate_ppm * 1e-6);
}

static inline uint64_t drifting_now(void* context) {
    const struct drifting_clock* clock = context;
    return drifting_at(clock, rvec_process_now(clock->rvec));
}

static inline struct rgap_source drifting_source(struct drifting_clock* clock) {
    struct rgap_source source = {clock, drifting_now, NULL};
    return source;
}

#endif
