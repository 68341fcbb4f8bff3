#include "timeline.h"

#include <stdlib.h>

enum { VIEW_SPINS = 100000 };

static struct fold load(const struct timeline_core* core, uint32_t slot) {
    const struct timeline_fold* from = &core->slot[slot];
    struct fold fold = {atomic_load_explicit(&from->base_counter, memory_order_relaxed),
                        atomic_load_explicit(&from->age_time_ns, memory_order_relaxed),
                        atomic_load_explicit(&from->age_fraction, memory_order_relaxed)};
    return fold;
}

static void store(struct timeline_core* core, uint32_t slot, struct fold fold) {
    struct timeline_fold* to = &core->slot[slot];
    atomic_store_explicit(&to->base_counter, fold.base_counter, memory_order_relaxed);
    atomic_store_explicit(&to->age_time_ns, fold.age_time_ns, memory_order_relaxed);
    atomic_store_explicit(&to->age_fraction, fold.age_fraction, memory_order_relaxed);
}

static struct rvec_rate load_rate(const struct timeline_rate* from) {
    struct rvec_rate rate = {atomic_load_explicit(&from->mult, memory_order_relaxed),
                             atomic_load_explicit(&from->shift, memory_order_relaxed)};
    return rate;
}

static void store_rate(struct timeline_rate* to, struct rvec_rate rate) {
    atomic_store_explicit(&to->mult, rate.mult, memory_order_relaxed);
    atomic_store_explicit(&to->shift, rate.shift, memory_order_relaxed);
}

static uint32_t slot_of(uint32_t generation) { return generation / 2 % 2; }

/* The even generation that follows an odd one. It uses the other slot, and is never 0, which stands
 * for a reader without a reading. */
static uint32_t following(uint32_t odd) { return odd + 1 == 0 ? 4 : odd + 1; }

int rvec_timeline_init(struct timeline* timeline, uint32_t cores, uint64_t counter,
                       struct rvec_rate rate) {
    timeline->core = calloc(cores, sizeof(*timeline->core));
    if (timeline->core == NULL) {
        return RVEC_ERROR_MEMORY;
    }
    timeline->cores = cores;
    timeline->generation = 2; /* 0 is what a reader holds that has not read yet */
    uint32_t slot = slot_of(timeline->generation);
    store_rate(&timeline->slot[slot], rate);
    struct fold fold = {counter, 0, 0};
    for (uint32_t i = 0; i < cores; ++i) {
        store(&timeline->core[i], slot, fold);
    }
    return RVEC_OK;
}

void rvec_timeline_destroy(struct timeline* timeline) { free(timeline->core); }

/* Decides the counter value at which the new folds begin: the one that the first thread to ask has
 * read after it saw the odd generation. Threads that saw the even one have read theirs before. */
static uint64_t decide(struct timeline_update* update, struct timeline_counter counter) {
    uint64_t undecided = atomic_load_explicit(&update->undecided, memory_order_relaxed);
    uint64_t decided = atomic_load_explicit(&update->counter, memory_order_relaxed);
    if (decided != undecided) {
        return decided;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t now = counter.now(counter.context);
    now += now == undecided;
    return atomic_compare_exchange_strong(&update->counter, &decided, now) ? now : decided;
}

/* Fold of a core after the current update, from the one before. */
static struct fold next_fold(struct timeline* timeline, struct timeline_counter counter,
                             const struct timeline_core* core, uint32_t slot) {
    struct timeline_update* update = &timeline->update;
    uint64_t offset = (uint64_t)__atomic_load_n(&core->offset, __ATOMIC_RELAXED);
    uint64_t begin = decide(update, counter) + offset;
    struct fold fold = load(core, slot);
    fold_update(&fold, load_rate(&timeline->slot[slot]),
                begin - atomic_load_explicit(&update->jumped, memory_order_relaxed));
    fold.age_time_ns += atomic_load_explicit(&update->age_ns, memory_order_relaxed);
    fold.base_counter = begin;
    return fold;
}

int rvec_timeline_view(struct timeline* timeline, struct timeline_counter counter, uint32_t core,
                       struct timeline_view* out) {
    const struct timeline_core* own = &timeline->core[core < timeline->cores ? core : 0];
    for (int spin = 0; spin < VIEW_SPINS; ++spin) {
        uint32_t before = __atomic_load_n(&timeline->generation, __ATOMIC_ACQUIRE);
        uint32_t slot = slot_of(before);
        struct rvec_rate next = load_rate(&timeline->update.rate);
        if (before % 2 != 0 && next.mult != 0) {
            out->fold = next_fold(timeline, counter, own, slot);
            out->rate = next;
            out->generation = following(before);
        } else {
            out->fold = load(own, slot);
            out->rate = load_rate(&timeline->slot[slot]);
            out->generation = before - before % 2;
        }
        /* One fence replaces an acquire load of each field above. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&timeline->generation, __ATOMIC_RELAXED) == before) {
            return 1;
        }
    }
    return 0;
}

struct plan {
    struct rvec_rate rate;
    uint64_t undecided;
    uint64_t counter;
    uint64_t jumped;
    uint64_t age_ns;
};

/* Publishes what readers need during the update before the generation becomes odd. */
static void begin(struct timeline* timeline, struct plan plan) {
    struct timeline_update* update = &timeline->update;
    /* A reader still in the last update that sees any of these stores must also see that its update
     * has ended. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    store_rate(&update->rate, plan.rate);
    atomic_store_explicit(&update->undecided, plan.undecided, memory_order_relaxed);
    atomic_store_explicit(&update->counter, plan.counter, memory_order_relaxed);
    atomic_store_explicit(&update->jumped, plan.jumped, memory_order_relaxed);
    atomic_store_explicit(&update->age_ns, plan.age_ns, memory_order_relaxed);
    __atomic_store_n(&timeline->generation, timeline->generation + 1, __ATOMIC_RELEASE);
    /* Other threads must see the odd generation before the counter is read. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void end(struct timeline* timeline) {
    __atomic_store_n(&timeline->generation, following(timeline->generation), __ATOMIC_RELEASE);
}

/* Stores the new state in the slot that no thread reads now. */
static void complete(struct timeline* timeline, struct timeline_counter counter,
                     struct rvec_rate rate) {
    uint32_t slot = slot_of(timeline->generation);
    for (uint32_t i = 0; i < timeline->cores; ++i) {
        struct timeline_core* core = &timeline->core[i];
        store(core, 1 - slot, next_fold(timeline, counter, core, slot));
    }
    store_rate(&timeline->slot[1 - slot], rate);
    end(timeline);
}

void rvec_timeline_change_rate(struct timeline* timeline, struct timeline_counter counter,
                               struct rvec_rate rate) {
    uint64_t asked = counter.now(counter.context);
    struct plan plan = {rate, asked, asked, 0, 0};
    begin(timeline, plan);
    complete(timeline, counter, rate);
}

void rvec_timeline_jump(struct timeline* timeline, uint64_t since, uint64_t counter,
                        uint64_t age_ns, struct rvec_rate rate) {
    struct timeline_counter not_read = {NULL, NULL};
    struct plan plan = {rate, counter - 1, counter, counter - since, age_ns};
    begin(timeline, plan);
    complete(timeline, not_read, rate);
}

struct rvec_rate rvec_timeline_rate(const struct timeline* timeline) {
    uint32_t generation = __atomic_load_n(&timeline->generation, __ATOMIC_ACQUIRE);
    return load_rate(&timeline->slot[slot_of(generation)]);
}

void rvec_timeline_set_offset(struct timeline* timeline, uint32_t core, int64_t offset) {
    struct plan offsets_alone = {{0, 0}, 0, 0, 0, 0};
    begin(timeline, offsets_alone);
    uint32_t slot = slot_of(timeline->generation);
    for (uint32_t i = 0; i < timeline->cores; ++i) {
        struct fold fold = load(&timeline->core[i], slot);
        if (i == core) {
            fold.base_counter += (uint64_t)(offset - timeline->core[core].offset);
        }
        store(&timeline->core[i], 1 - slot, fold);
    }
    store_rate(&timeline->slot[1 - slot], load_rate(&timeline->slot[slot]));
    __atomic_store_n(&timeline->core[core].offset, offset, __ATOMIC_RELAXED);
    end(timeline);
}
