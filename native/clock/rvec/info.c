/* What a clock tells of itself. */
#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "rvec_private.h"

static const char* counter_name(const struct rvec* rvec) {
    switch (rvec->invariance) {
        case RVEC_INVARIANCE_GIVEN:
            return "given";
        case RVEC_INVARIANCE_NONE:
            return "clock_monotonic";
        default:
            return rvec_machine_counter_name();
    }
}

int rvec_info(struct rvec* rvec, struct rvec_facts* out) {
    if (rvec == NULL || out == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    memset(out, 0, sizeof(*out));
    pthread_mutex_lock(&rvec->lock);
    snprintf(out->counter, sizeof(out->counter), "%s", counter_name(rvec));
    out->frequency_hz = 1e9 / rvec_rate_ns_per_tick(rvec_current_rate(rvec));
    out->uncertainty_ppb = rvec->calibration.uncertainty_ppb;
    out->invariance = rvec->invariance;
    out->cores = rvec->source.cores;
    for (uint32_t i = 0; i < rvec->source.cores; ++i) {
        out->cores_checked += rvec->offset_measured[i];
    }
    out->jumps = rvec->jumps;
    out->rate_changes = rvec->rate_changes;
    rvec_process_doubt(rvec, &out->doubt_ns, &out->rate_changes_sum_ppb);
    pthread_mutex_unlock(&rvec->lock);
    return RVEC_OK;
}

void rvec_process_doubt(const struct rvec* rvec, uint64_t* ns, double* ppb) {
    *ns = atomic_load_explicit(&rvec->doubt_ns, memory_order_relaxed);
    *ppb = (double)atomic_load_explicit(&rvec->rate_changes_sum_ppt, memory_order_relaxed) / 1e3;
}

int rvec_get_rate(struct rvec* rvec, struct rvec_rate* out) {
    if (rvec == NULL || out == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    *out = rvec_current_rate(rvec);
    return RVEC_OK;
}
