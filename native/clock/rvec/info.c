/* Offsets of cores, and rvec_info. */
#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "rvec_private.h"

static void keep_offset(struct rvec* rvec, uint32_t core, struct offset offset) {
    rvec->offsets[core] = offset;
    rvec->offset_measured[core] = 1;
    uint64_t size = offset.ticks < 0 ? 0 - (uint64_t)offset.ticks : (uint64_t)offset.ticks;
    /* An offset within its uncertainty may be zero, and zero keeps causal order without a
       correction. */
    int64_t applied = size > offset.uncertainty ? offset.ticks : 0;
    if (applied != rvec->applied[core]) {
        rvec->applied[core] = applied;
        rvec_timeline_set_offset(&rvec->timeline, core, applied);
    }
}

int rvec_measure_offsets(struct rvec* rvec) {
    if (rvec == NULL || rvec->invariance == RVEC_INVARIANCE_GIVEN) {
        return RVEC_ERROR_ARGUMENT;
    }
    if (rvec->invariance == RVEC_INVARIANCE_NONE) {
        return RVEC_OK; /* the fallback has one counter for all */
    }
    int status = RVEC_OK;
    pthread_mutex_lock(&rvec->lock);
    rvec->offset_measured[0] = 1;
    for (uint32_t core = 1; core < rvec->source.cores && status == RVEC_OK; ++core) {
        struct offset offset;
        status = rvec_offset_measure(0, core, &offset);
        if (status == RVEC_OK) {
            keep_offset(rvec, core, offset);
        }
    }
    pthread_mutex_unlock(&rvec->lock);
    return status;
}

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

int rvec_get_offset(struct rvec* rvec, uint32_t core, struct rvec_core_offset* out) {
    if (rvec == NULL || out == NULL || core >= rvec->source.cores) {
        return RVEC_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&rvec->lock);
    out->measured = rvec->offset_measured[core];
    out->offset_ticks = rvec->offsets[core].ticks;
    out->uncertainty_ticks = rvec->offsets[core].uncertainty;
    out->applied = rvec->applied[core] != 0;
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
