/* The reads that the inlined path cannot finish: migration, rate change, jump, first use. */
#include "rvec_private.h"

/* A reading this little behind, or equal, was taken out of order or within one tick of a coarse
 * counter: the clock then counts up by 1, and does not suspect the counter. */
static const uint64_t SLACK_NS = 1000;

/* A counter slower than this may be read by two threads in causal order within one tick. */
static const double COARSE_TICK_NS = 8;

enum { INDIRECT = 1, INDIRECT_SHARED = 2 };

/* Attempts to take a reading that is not before the timeline, which others may have moved. */
enum { READ_TRIES = 8 };

/* Values that the timeline's generation never has: its first is 2, and odd ones are updates. */
enum { NEVER_READ = 0, UPDATE_AGAIN = 1 };

static struct rvec_rate reader_rate(const struct rvec_clock* clock) {
    struct rvec_rate rate = {clock->mult, clock->shift};
    return rate;
}

/* Smallest value that may be returned next. */
static uint64_t reader_floor(const struct rvec_clock* clock) {
    uint32_t low = clock->next - clock->ticks_per_ns; /* what the inlined read has added */
    uint64_t reached = clock->age_time_ns + rvec_ticks_to_ns(reader_rate(clock), low) + 1;
    return reached > clock->floor_ns ? reached : clock->floor_ns;
}

/* Whether the step from the last reading is one that a healthy counter can make. */
static int is_ordinary_step(const struct rvec_clock* clock, struct rvec_reading reading) {
    const struct rvec* rvec = clock->rvec;
    struct rvec_reading last = {((uint64_t)clock->base_high << 32) | clock->next, clock->core};
    int64_t step = (int64_t)(rvec_common_counter(rvec, reading) - rvec_common_counter(rvec, last));
    int64_t slack = (int64_t)rvec_rate_ticks_at_least(reader_rate(clock), SLACK_NS) +
                    (int64_t)clock->ticks_per_ns;
    return step >= -slack && step < (int64_t)rvec->limit;
}

/* Whether to check the counter: readers that never pause do so when the counter's high half
   changes. */
static int is_check_due(const struct rvec* rvec, struct rvec_reading reading) {
    uint64_t checked = atomic_load_explicit(&rvec->checked_at, memory_order_relaxed);
    int64_t since = (int64_t)(rvec_common_counter(rvec, reading) - checked);
    return since < 0 || since > 8 * (int64_t)rvec->limit;
}

/* Copies the timeline, with a reading that is not before it. An earlier reading was taken before
 * the rate changed, and other threads may have read later counter values at the old rate since. */
static int view_at(const struct rvec_clock* clock, struct rvec_reading* reading,
                   struct timeline_view* view) {
    struct rvec* rvec = clock->rvec;
    for (int i = 0; i < READ_TRIES; ++i) {
        uint32_t core = reading->core & (TIMELINE_CORES - 1);
        if (!rvec_timeline_view(&rvec->timeline, rvec_timeline_counter(rvec), core, view)) {
            return 0;
        }
        if ((int64_t)(reading->counter - view->fold.base_counter) >= 0) {
            return 1;
        }
        *reading = rvec->source.read(rvec->source.context);
    }
    uint32_t core = reading->core & (TIMELINE_CORES - 1);
    return rvec_timeline_view(&rvec->timeline, rvec_timeline_counter(rvec), core, view);
}

/* Sets the reader's base anew, on its present core: the base counter is the multiple of 2^32 below
 * the counter. */
static int adopt(struct rvec_clock* clock, struct rvec_reading* at) {
    struct timeline_view view;
    if (!view_at(clock, at, &view)) {
        return 0;
    }
    struct rvec_reading reading = *at;
    /* A signal handler that reads meanwhile must find a consistent state. */
    clock->generation = UPDATE_AGAIN;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t base = reading.counter & ~(uint64_t)0xffffffff;
    clock->age_time_ns = fold_read(&view.fold, view.rate, base) - clock->origin_ns;
    clock->mult = view.rate.mult;
    clock->shift = view.rate.shift;
    clock->ticks_per_ns = (uint32_t)rvec_rate_ticks_at_least(view.rate, 1);
    clock->base_high = (uint32_t)(reading.counter >> 32);
    clock->core = reading.core;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    clock->generation = view.generation;
    return 1;
}

/* After a jump, threads adopt the corrected timeline one by one, and no reading may be smaller
 * than an earlier one of another thread; so the readers of the process clock share the largest
 * one. */
static uint64_t shared_floor(const struct rvec_clock* clock, uint64_t floor) {
    if (clock->is_process == 0) {
        return floor;
    }
    uint64_t shared = atomic_load_explicit(&clock->rvec->process_last_ns, memory_order_relaxed);
    return floor > shared ? floor : shared + 1;
}

static void share_floor(const struct rvec_clock* clock, uint64_t given) {
    _Atomic uint64_t* last = &clock->rvec->process_last_ns;
    uint64_t seen = atomic_load_explicit(last, memory_order_relaxed);
    while (clock->is_process != 0 && seen < given &&
           !atomic_compare_exchange_weak_explicit(last, &seen, given, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Returns `ns`, or the next larger free value, and enables the inlined path only once the
 * counter is past the returned value. */
static uint64_t give(struct rvec_clock* clock, uint32_t low, uint64_t ns, uint64_t floor) {
    uint64_t given = (int64_t)(ns - floor) >= 0 ? ns : floor;
    clock->floor_ns = given + 1;
    uint64_t ticks = rvec_rate_ticks_at_least(reader_rate(clock), given + 1 - ns);
    ticks = ticks > clock->ticks_per_ns ? ticks : clock->ticks_per_ns;
    uint64_t next = (uint64_t)low + ticks;
    clock->next = next < 0xffffffff ? (uint32_t)next : 0xffffffff;
    if (next > 0xffffffff) {
        clock->generation = UPDATE_AGAIN; /* not before the high half has changed */
    }
    return given;
}

uint64_t rvec_read_update_(struct rvec_clock* clock, struct rvec_reading reading) {
    int fresh = clock->generation == NEVER_READ;
    struct rvec* rvec = clock->rvec;
    uint64_t floor = shared_floor(clock, fresh ? 1 : reader_floor(clock));
    int ordinary = fresh || is_ordinary_step(clock, reading);
    if ((!ordinary || is_check_due(rvec, reading)) && rvec_try_check(rvec, ordinary)) {
        /* The check may have updated the timeline at a later counter value than `reading`, so the
         * counter is read again. */
        reading = rvec->source.read(rvec->source.context);
    }
    if (!adopt(clock, &reading)) {
        clock->floor_ns = floor + 1;
        return floor;
    }
    uint32_t low = (uint32_t)reading.counter;
    uint64_t ns = clock->age_time_ns + rvec_ticks_to_ns(reader_rate(clock), low);
    uint64_t given = give(clock, low, ns, floor);
    share_floor(clock, given);
    return given;
}

/* Raises `last` to at least one more than it was; lock-free. */
static uint64_t strictly_above(_Atomic uint64_t* last, uint64_t ns) {
    uint64_t seen = atomic_load_explicit(last, memory_order_relaxed);
    uint64_t given;
    do {
        given = ns > seen ? ns : seen + 1;
    } while (!atomic_compare_exchange_weak_explicit(last, &seen, given, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return given;
}

uint64_t rvec_read_indirect_(struct rvec_clock* clock) {
    struct rvec* rvec = clock->rvec;
    struct rvec_reading reading = rvec->source.read(rvec->source.context);
    uint64_t ns;
    /* Indirect readings are so slow that checking whether a check is due adds nothing; and the high
     * half of a slow counter changes too seldom to start one. */
    if (clock->shift == RVEC_INLINE_SHIFT && !is_check_due(rvec, reading)) {
        ns = rvec_advance_(clock, (uint32_t)(reading.counter >> 32), (uint32_t)reading.counter,
                           reading.core);
    } else {
        ns = rvec_read_update_(clock, reading);
    }
    return clock->indirect == INDIRECT_SHARED ? strictly_above(&rvec->process_last_ns, ns) : ns;
}

uint64_t rvec_now(struct rvec_clock* clock) { return rvec_read(clock); }

size_t rvec_clock_size(void) { return sizeof(struct rvec_clock); }

static int attach(struct rvec* rvec, struct rvec_clock* clock) {
    if (rvec == NULL || clock == NULL) {
        return RVEC_ERROR_ARGUMENT;
    }
    struct rvec_clock fresh = {0};
    fresh.rvec = rvec;
    fresh.limit = rvec->limit;
    fresh.shared_generation = &rvec->timeline.generation;
    fresh.indirect = rvec->inline_reads ? 0 : INDIRECT;
    *clock = fresh;
    return RVEC_OK;
}

int rvec_attach_process(struct rvec* rvec, struct rvec_clock* clock) {
    int status = attach(rvec, clock);
    if (status != RVEC_OK) {
        return status;
    }
    if (rvec_rate_ns_per_tick(rvec_current_rate(rvec)) > COARSE_TICK_NS ||
        rvec->invariance == RVEC_INVARIANCE_NONE) {
        clock->indirect = INDIRECT_SHARED;
    }
    clock->is_process = clock->indirect != INDIRECT_SHARED; /* which shares every reading */
    return RVEC_OK;
}

int rvec_attach_thread(struct rvec* rvec, struct rvec_clock* clock) {
    struct rvec_clock now;
    int status = attach(rvec, &now);
    if (status == RVEC_OK) {
        status = attach(rvec, clock);
    }
    if (status != RVEC_OK) {
        return status;
    }
    clock->origin_ns = rvec_read(&now);
    return RVEC_OK;
}

uint64_t rvec_process_now(struct rvec* rvec) {
    static _Thread_local struct rvec_clock clock;
    static _Thread_local uint64_t opening;
    if (opening != rvec->id) {
        rvec_attach_process(rvec, &clock);
        opening = rvec->id;
    }
    return rvec_read(&clock);
}

int rvec_core_read(struct rvec* rvec, uint32_t core, uint64_t* ns) {
    if (rvec == NULL || ns == NULL || core >= rvec->source.cores) {
        return RVEC_ERROR_ARGUMENT;
    }
    struct rvec_reading reading = rvec->source.read(rvec->source.context);
    if (is_check_due(rvec, reading) && rvec_try_check(rvec, 0)) {
        reading = rvec->source.read(rvec->source.context);
    }
    uint64_t counter = rvec_common_counter(rvec, reading);
    struct timeline_view view;
    struct timeline_core* own = &rvec->timeline.core[core];
    uint64_t now = 0;
    if (rvec_timeline_view(&rvec->timeline, rvec_timeline_counter(rvec), core, &view)) {
        int64_t offset = __atomic_load_n(&own->offset, __ATOMIC_RELAXED);
        now = fold_read(&view.fold, view.rate, counter + (uint64_t)offset);
    }
    *ns = strictly_above(&own->last_ns, now);
    return RVEC_OK;
}
