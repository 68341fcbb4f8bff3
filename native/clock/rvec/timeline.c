#include "timeline.h"

#include <stdlib.h>

enum { VIEW_SPINS = 100000 };

int rvec_timeline_init(struct timeline* timeline, uint32_t cores, uint64_t counter,
                       struct rvec_rate rate) {
    timeline->core = calloc(cores, sizeof(*timeline->core));
    if (timeline->core == NULL) {
        return RVEC_ERROR_MEMORY;
    }
    timeline->cores = cores;
    timeline->generation = 2; /* 0 is what a reader holds that has not read yet */
    atomic_init(&timeline->mult, rate.mult);
    atomic_init(&timeline->shift, rate.shift);
    for (uint32_t i = 0; i < cores; ++i) {
        atomic_init(&timeline->core[i].base_counter, counter);
    }
    return RVEC_OK;
}

void rvec_timeline_destroy(struct timeline* timeline) { free(timeline->core); }

static struct fold load(const struct timeline_core* core) {
    struct fold fold = {atomic_load_explicit(&core->base_counter, memory_order_relaxed),
                        atomic_load_explicit(&core->age_time_ns, memory_order_relaxed),
                        atomic_load_explicit(&core->age_fraction, memory_order_relaxed)};
    return fold;
}

static void store(struct timeline_core* core, struct fold fold) {
    atomic_store_explicit(&core->base_counter, fold.base_counter, memory_order_relaxed);
    atomic_store_explicit(&core->age_time_ns, fold.age_time_ns, memory_order_relaxed);
    atomic_store_explicit(&core->age_fraction, fold.age_fraction, memory_order_relaxed);
}

static struct rvec_rate load_rate(const struct timeline* timeline) {
    struct rvec_rate rate = {atomic_load_explicit(&timeline->mult, memory_order_relaxed),
                             atomic_load_explicit(&timeline->shift, memory_order_relaxed)};
    return rate;
}

int rvec_timeline_view(const struct timeline* timeline, uint32_t core, struct timeline_view* out) {
    if (core >= timeline->cores) {
        core = 0;
    }
    for (int spin = 0; spin < VIEW_SPINS; ++spin) {
        uint32_t before = __atomic_load_n(&timeline->generation, __ATOMIC_ACQUIRE);
        if (before & 1) {
            continue;
        }
        out->fold = load(&timeline->core[core]);
        out->rate = load_rate(timeline);
        out->generation = before;
        /* Acquire loads above would do for one field each; the fence does for all of them. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&timeline->generation, __ATOMIC_RELAXED) == before) {
            return 1;
        }
    }
    return 0;
}

static void begin(struct timeline* timeline) {
    __atomic_store_n(&timeline->generation, timeline->generation + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(struct timeline* timeline) {
    uint32_t next = timeline->generation + 1;
    __atomic_store_n(&timeline->generation, next == 0 ? 2 : next, __ATOMIC_RELEASE);
}

void rvec_timeline_change_rate(struct timeline* timeline, uint64_t (*now)(const void* context),
                               const void* context, struct rvec_rate rate) {
    struct rvec_rate old = load_rate(timeline);
    begin(timeline);
    /* The odd generation has to be seen by others before the counter is read. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t counter = now(context);
    for (uint32_t i = 0; i < timeline->cores; ++i) {
        struct fold fold = load(&timeline->core[i]);
        fold_update(&fold, old, counter + (uint64_t)timeline->core[i].offset);
        store(&timeline->core[i], fold);
    }
    atomic_store_explicit(&timeline->mult, rate.mult, memory_order_relaxed);
    atomic_store_explicit(&timeline->shift, rate.shift, memory_order_relaxed);
    end(timeline);
}

void rvec_timeline_jump(struct timeline* timeline, uint64_t since, uint64_t counter,
                        uint64_t age_ns, struct rvec_rate rate) {
    struct rvec_rate old = load_rate(timeline);
    begin(timeline);
    for (uint32_t i = 0; i < timeline->cores; ++i) {
        uint64_t offset = (uint64_t)timeline->core[i].offset;
        struct fold fold = load(&timeline->core[i]);
        fold_update(&fold, old, since + offset);
        fold.age_time_ns += age_ns;
        fold.base_counter = counter + offset;
        store(&timeline->core[i], fold);
    }
    atomic_store_explicit(&timeline->mult, rate.mult, memory_order_relaxed);
    atomic_store_explicit(&timeline->shift, rate.shift, memory_order_relaxed);
    end(timeline);
}

void rvec_timeline_set_offset(struct timeline* timeline, uint32_t core, int64_t offset) {
    begin(timeline);
    struct fold fold = load(&timeline->core[core]);
    fold.base_counter += (uint64_t)(offset - timeline->core[core].offset);
    store(&timeline->core[core], fold);
    __atomic_store_n(&timeline->core[core].offset, offset, __ATOMIC_RELAXED);
    end(timeline);
}
