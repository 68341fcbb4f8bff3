/* Opening, checking and describing a calibrated counter. Reading it: reader.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forks.h"
#include "machine.h"
#include "rvec_private.h"

static const uint64_t CALIBRATION_NS = 20000000;
static const uint64_t LIMIT_NS = 100000000;
enum { CHECK_TRIES = 4, REFINE_TRIES = 16 };

/* Uncertainty in ppb of a rate that the caller states: that of an oscillator. */
static const double TOLD_PPB = 50000;

const char* rvec_strerror(int status) {
    switch (status) {
        case RVEC_OK:
            return "success";
        case RVEC_ERROR_ARGUMENT:
            return "an argument is out of its range";
        case RVEC_ERROR_MEMORY:
            return "out of memory";
        case RVEC_ERROR_NOT_INVARIANT:
            return "the counter's rate is not constant, and the fallback was refused";
        case RVEC_ERROR_CALIBRATION:
            return "counter and reference clock do not agree on a rate";
        case RVEC_ERROR_AFFINITY:
            return "a core could not be measured: it is outside this process's CPU set, or busy";
        case RVEC_ERROR_SYSTEM:
            return "the operating system refused a resource; see errno";
        default:
            return "unknown status";
    }
}

struct rvec_rate rvec_current_rate(const struct rvec* rvec) {
    return rvec_timeline_rate(&rvec->timeline);
}

static int pick_source(struct rvec* rvec, const struct rvec_options* options) {
    if (options->source != NULL) {
        rvec->source = *options->source;
        rvec->invariance = RVEC_INVARIANCE_GIVEN;
        return rvec->source.read == NULL || rvec->source.cores == 0 ? RVEC_ERROR_ARGUMENT : RVEC_OK;
    }
    rvec->invariance = rvec_machine_invariance();
    if (rvec->invariance != RVEC_INVARIANCE_NONE) {
        rvec->source = rvec_machine_counter();
        return RVEC_OK;
    }
    rvec->source = rvec_machine_fallback();
    return options->refuse_fallback ? RVEC_ERROR_NOT_INVARIANT : RVEC_OK;
}

/* A stated frequency is used as exact if the measurement is compatible with it; the fallback
   needs no measurement. */
static int calibrate(struct rvec* rvec, uint64_t duration_ns) {
    double stated = (double)rvec->source.frequency_hz;
    struct calibration* calibration = &rvec->calibration;
    if (rvec->invariance == RVEC_INVARIANCE_NONE) {
        calibration->first = rvec_calibration_look(&rvec->source, NULL, CHECK_TRIES);
        calibration->last = calibration->first;
        calibration->ns_per_tick = 1;
        return RVEC_OK;
    }
    int status = rvec_calibration_run(&rvec->source, duration_ns, calibration);
    if (status == RVEC_OK && stated > 0) {
        double off_ppb = fabs(1e9 / stated / calibration->ns_per_tick - 1) * 1e9;
        if (off_ppb <= calibration->uncertainty_ppb) {
            calibration->ns_per_tick = 1e9 / stated;
        }
    }
    return status;
}

static int allocate(struct rvec* rvec) {
    uint32_t cores = rvec->source.cores;
    rvec->offsets = calloc(cores, sizeof(*rvec->offsets));
    rvec->offset_measured = calloc(cores, 1);
    rvec->applied = calloc(cores, sizeof(*rvec->applied));
    return rvec->offsets && rvec->offset_measured && rvec->applied ? RVEC_OK : RVEC_ERROR_MEMORY;
}

static int start(struct rvec* rvec, const struct rvec_options* options) {
    int status = pick_source(rvec, options);
    if (status != RVEC_OK) {
        return status;
    }
    if (rvec->source.cores > TIMELINE_CORES) {
        rvec->source.cores = TIMELINE_CORES;
    }
    uint64_t duration = options->calibration_ns ? options->calibration_ns : CALIBRATION_NS;
    status = allocate(rvec);
    if (status == RVEC_OK) {
        status = calibrate(rvec, duration);
    }
    if (status != RVEC_OK) {
        return status;
    }
    struct rvec_rate rate = rvec_rate_make(rvec->calibration.ns_per_tick);
    if (rate.mult == 0) {
        return RVEC_ERROR_CALIBRATION;
    }
    rvec->keep_rate = options->keep_rate || rvec->invariance == RVEC_INVARIANCE_NONE;
    rvec->inline_reads = rate.shift == RVEC_INLINE_SHIFT && options->source == NULL &&
                         rvec->invariance != RVEC_INVARIANCE_NONE;
    uint64_t limit = rvec_rate_ticks_at_least(rate, LIMIT_NS);
    rvec->limit = limit < 0x40000000 ? (uint32_t)limit : 0x40000000;
    rvec->witness = rvec->calibration.last;
    atomic_store(&rvec->checked_at, rvec->witness.counter);
    status = rvec_timeline_init(&rvec->timeline, rvec->source.cores, rvec->witness.counter, rate);
    if (status == RVEC_OK && options->measure_offsets) {
        status = rvec_measure_offsets(rvec);
    }
    return status;
}

int rvec_open(struct rvec** out, const struct rvec_options* options) {
    static _Atomic uint64_t openings;
    const struct rvec_options defaults = {0};
    if (out == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    *out = NULL;
    struct rvec* rvec = calloc(1, sizeof(*rvec));
    if (rvec == NULL) {
        return RVEC_ERROR_MEMORY;
    }
    rvec->id = atomic_fetch_add(&openings, 1) + 1;
    pthread_mutex_init(&rvec->lock, NULL);
    int status = start(rvec, options != NULL ? options : &defaults);
    if (status != RVEC_OK) {
        rvec_close(rvec);
        return status;
    }
    rvec->forks.lock = &rvec->lock;
    rvec_forks_add(&rvec->forks);
    *out = rvec;
    return RVEC_OK;
}

void rvec_close(struct rvec* rvec) {
    if (rvec == NULL) {
        return;
    }
    rvec_forks_remove(&rvec->forks);
    rvec_timeline_destroy(&rvec->timeline);
    pthread_mutex_destroy(&rvec->lock);
    free(rvec->offsets);
    free(rvec->offset_measured);
    free(rvec->applied);
    free(rvec);
}

uint64_t rvec_common_counter(const struct rvec* rvec, struct rvec_reading reading) {
    uint32_t core = reading.core & (TIMELINE_CORES - 1);
    if (core >= rvec->source.cores) {
        return reading.counter;
    }
    return reading.counter -
           (uint64_t)__atomic_load_n(&rvec->timeline.core[core].offset, __ATOMIC_RELAXED);
}

static uint64_t common_now(const void* context) {
    const struct rvec* rvec = context;
    return rvec_common_counter(rvec, rvec->source.read(rvec->source.context));
}

struct timeline_counter rvec_timeline_counter(const struct rvec* rvec) {
    struct timeline_counter counter = {common_now, rvec};
    return counter;
}

static void count_rate_change(struct rvec* rvec, struct rvec_rate from, struct rvec_rate to) {
    rvec->rate_changes += 1;
    double size = fabs(rvec_rate_ns_per_tick(to) / rvec_rate_ns_per_tick(from) - 1);
    atomic_fetch_add(&rvec->rate_changes_sum_ppt, (uint64_t)(size * 1e12) + 1);
}

/* After a rate change the old calibration is void; a new one starts from the two looks. */
static void restart_calibration(struct rvec* rvec, const struct witness* before,
                                const struct witness* now) {
    struct calibration fresh;
    if (rvec_calibration_between(before, now, &fresh) == RVEC_OK) {
        rvec->calibration = fresh;
    }
}

/* `watched`: readers have followed the counter by small steps since the last check. */
static enum rvec_verdict check_locked(struct rvec* rvec, int watched) {
    struct rvec_rate rate = rvec_current_rate(rvec);
    struct witness now = rvec_calibration_look(&rvec->source, rvec->applied, CHECK_TRIES);
    struct witness before = rvec->witness;
    struct suspicion suspicion = {rvec->suspect, watched ? UINT64_MAX : LIMIT_NS};
    struct judgement found =
        rvec_judge(&before, &now, rate, rvec->calibration.uncertainty_ppb, suspicion);
    if (found.verdict != RVEC_STEADY) {
        int rate_changed = found.verdict == RVEC_RATE_CHANGED;
        /* Added before the new time is visible, so that whoever reads that time also sees by how
         * much it may be wrong. */
        atomic_fetch_add(&rvec->doubt_ns, found.doubt_ns);
        if (rate_changed) {
            count_rate_change(rvec, rate, found.rate);
        }
        rvec_timeline_jump(&rvec->timeline, before.counter, now.counter, found.elapsed_ns,
                           found.rate);
        if (rate_changed) {
            restart_calibration(rvec, &before, &now);
        } else {
            rvec->jumps += 1;
            rvec->calibration.first = now;
        }
    }
    rvec->suspect = found.verdict == RVEC_JUMPED ? found.ns_per_tick : 0;
    rvec->witness = now;
    atomic_store_explicit(&rvec->checked_at, now.counter, memory_order_relaxed);
    return found.verdict;
}

static int refine_locked(struct rvec* rvec) {
    if (rvec->invariance == RVEC_INVARIANCE_NONE) {
        return RVEC_OK;
    }
    struct calibration better;
    struct witness now = rvec_calibration_look(&rvec->source, rvec->applied, REFINE_TRIES);
    int status = rvec_calibration_between(&rvec->calibration.first, &now, &better);
    if (status != RVEC_OK || better.uncertainty_ppb >= rvec->calibration.uncertainty_ppb) {
        return status;
    }
    struct rvec_rate from = rvec_current_rate(rvec);
    struct rvec_rate to = rvec_rate_make(better.ns_per_tick);
    if (to.mult == 0 || (rvec->inline_reads && to.shift != RVEC_INLINE_SHIFT)) {
        return RVEC_ERROR_CALIBRATION;
    }
    count_rate_change(rvec, from, to);
    rvec->calibration = better;
    rvec_timeline_change_rate(&rvec->timeline, rvec_timeline_counter(rvec), to);
    return RVEC_OK;
}

/* Each refinement costs readers one update, so wait until it is worth a factor of four. */
static int refinement_is_due(const struct rvec* rvec) {
    uint64_t used = rvec->calibration.last.counter - rvec->calibration.first.counter;
    uint64_t had = rvec->witness.counter - rvec->calibration.first.counter;
    return !rvec->keep_rate && used > 0 && had / 4 >= used;
}

int rvec_try_check(struct rvec* rvec, int watched) {
    int saved_errno = errno;
    if (pthread_mutex_trylock(&rvec->lock) != 0) {
        return 0;
    }
    if (check_locked(rvec, watched) == RVEC_STEADY && refinement_is_due(rvec)) {
        refine_locked(rvec);
    }
    pthread_mutex_unlock(&rvec->lock);
    errno = saved_errno;
    return 1;
}

int rvec_check(struct rvec* rvec, enum rvec_verdict* verdict) {
    if (rvec == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&rvec->lock);
    enum rvec_verdict found = check_locked(rvec, 0);
    pthread_mutex_unlock(&rvec->lock);
    if (verdict != NULL) {
        *verdict = found;
    }
    return RVEC_OK;
}

int rvec_refine(struct rvec* rvec) {
    if (rvec == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&rvec->lock);
    int status = check_locked(rvec, 0) == RVEC_STEADY ? refine_locked(rvec) : RVEC_OK;
    pthread_mutex_unlock(&rvec->lock);
    return status;
}

/* Adopts a rate that the caller states. The calibration of the old rate is void; the new rate is
 * refined only on request. */
static void believe(struct rvec* rvec, double ns_per_tick) {
    struct witness now = rvec_calibration_look(&rvec->source, rvec->applied, CHECK_TRIES);
    rvec->calibration = (struct calibration){
        .ns_per_tick = ns_per_tick, .uncertainty_ppb = TOLD_PPB, .first = now, .last = now};
    rvec->witness = now;
    rvec->suspect = 0;
    atomic_store_explicit(&rvec->checked_at, now.counter, memory_order_relaxed);
}

int rvec_rate_changed(struct rvec* rvec, double hz) {
    if (rvec == NULL || !(hz > 0)) {
        return RVEC_ERROR_ARGUMENT;
    }
    if (rvec->invariance == RVEC_INVARIANCE_NONE) {
        return RVEC_OK; /* the fallback does not count by the counter */
    }
    struct rvec_rate to = rvec_rate_make(1e9 / hz);
    if (to.mult == 0 || (rvec->inline_reads && to.shift != RVEC_INLINE_SHIFT)) {
        return RVEC_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&rvec->lock);
    count_rate_change(rvec, rvec_current_rate(rvec), to);
    rvec_timeline_change_rate(&rvec->timeline, rvec_timeline_counter(rvec), to);
    believe(rvec, 1e9 / hz);
    pthread_mutex_unlock(&rvec->lock);
    return RVEC_OK;
}
