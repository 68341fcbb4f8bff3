/* Offsets of a clock's cores to the first: measured, applied and told. */
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
