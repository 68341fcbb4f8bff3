/* The global clock: looks, and the model that readers see. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rgap_private.h"

static const uint64_t SECOND_NS = 1000000000;

/* Attempts of the background thread at the second look; after these it leaves the clock as it is.
 */
enum { BACKGROUND_TRIES = 5 };

void rgap_config_init(struct rgap_config* config) {
    memset(config, 0, sizeof(*config));
    config->port = 3617;
    config->discard = 5;
    config->smallest = 20;
    config->spread_ns = 500;
    config->min_exchanges = 20;
    config->max_exchanges = 10000;
    config->deadline_ns = 2 * SECOND_NS;
    config->second_look_ns = SECOND_NS;
    /* IEEE 802.3 permits an error of 100 ppm for a network's clocks, and a machine's are no
     * worse; the rest is for a counter with a short calibration. */
    config->rate_limit_ppm = 250;
    config->wander_ppm = 0.25;
}

static int is_sensible(const struct rgap_config* c) {
    return c->address != NULL && c->key != NULL && c->key_length >= 16 &&
           c->source.now_ns != NULL && c->smallest >= 2 && c->smallest <= FILTER_SMALLEST &&
           c->min_exchanges >= 1 && c->max_exchanges >= c->min_exchanges && c->deadline_ns > 0 &&
           c->rate_limit_ppm > 0 && c->rate_limit_ppm < 1e5 && c->wander_ppm >= 0;
}

/* Directs readers to the other copy, then writes this one. */
static void write_copy(struct rgap* clock, uint32_t sequence, const uint64_t* words) {
    atomic_store_explicit(&clock->sequence, sequence, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < PUBLISHED_WORDS; ++i) {
        atomic_store_explicit(&clock->words[1 - sequence % 2][i], words[i], memory_order_relaxed);
    }
}

static void publish(struct rgap* clock, const struct published* now) {
    uint64_t words[PUBLISHED_WORDS];
    memcpy(words, now, sizeof(words));
    uint32_t sequence = atomic_load_explicit(&clock->sequence, memory_order_relaxed);
    write_copy(clock, sequence + 1, words);
    write_copy(clock, sequence + 2, words);
}

struct published rgap_published(struct rgap* clock) {
    uint64_t words[PUBLISHED_WORDS];
    uint32_t before;
    do { /* repeats only if a whole copy was written meanwhile */
        before = atomic_load_explicit(&clock->sequence, memory_order_acquire);
        for (int i = 0; i < PUBLISHED_WORDS; ++i) {
            words[i] = atomic_load_explicit(&clock->words[before % 2][i], memory_order_relaxed);
        }
        atomic_thread_fence(memory_order_acquire);
    } while (atomic_load_explicit(&clock->sequence, memory_order_relaxed) != before);
    struct published published;
    memcpy(&published, words, sizeof(published));
    return published;
}

struct rgap_doubt rgap_doubt_of(const struct rgap* clock) {
    struct rgap_doubt doubt = {0, 0};
    if (clock->source.doubt != NULL) {
        clock->source.doubt(clock->source.context, &doubt);
    }
    return doubt;
}

static void describe_look(struct rgap* clock, const struct look* look,
                          const struct look_report* report, const struct model* model) {
    struct rgap_facts* facts = &clock->facts;
    facts->looks = (uint32_t)model->looks;
    facts->level = look->level + 1U;
    facts->timeline = look->timeline;
    facts->offset_ns = look->estimate.offset_ns;
    facts->rate_ppm = model->rate_ppb / 1e3;
    facts->rate_doubt_ppm = model->rate_doubt_ppb / 1e3;
    facts->half_width_ns = model->half_ns;
    facts->min_rtt_ns = (uint64_t)look->estimate.min_rtt_ns;
    facts->spread_ns = look->estimate.spread_ns;
    facts->exchanges = report->exchanges;
    facts->kernel_stamped = report->kernel_stamped;
    facts->duration_ns = report->duration_ns;
}

static void count(struct rgap_facts* facts, const struct exchange_counts* counts) {
    facts->lost += counts->lost;
    facts->malformed += counts->malformed;
    facts->foreign += counts->foreign;
    facts->unexpected += counts->unexpected;
}

static void use_look(struct rgap* clock, const struct look* look,
                     const struct look_report* report) {
    struct model model;
    if (clock->looks == 0) {
        clock->first = *look;
        model = rgap_model_first(look, &clock->limits);
    } else {
        struct model old = rgap_published(clock).model;
        model = rgap_model_second(&clock->first, look, &clock->limits);
        if (model.looks == 1) {
            clock->first = *look; /* the two cannot be compared: starts again */
        }
        rgap_model_take_over(&model, &old, clock->source.now_ns(clock->source.context));
    }
    clock->second = *look;
    clock->looks += 1;
    struct published now = {model, look->level + 1U, look->timeline, clock->looks};
    publish(clock, &now);
    describe_look(clock, look, report, &model);
}

int rgap_look(struct rgap* clock) {
    if (clock == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    struct look look;
    struct look_report report;
    pthread_mutex_lock(&clock->looking);
    int status = rgap_client_look(&clock->order, &look, &report);
    pthread_mutex_lock(&clock->lock);
    count(&clock->facts, &report.counts);
    if (status == RGAP_OK) {
        look.doubt = rgap_doubt_of(clock);
        if (clock->looks > 0 && look.timeline != clock->first.timeline) {
            status = RGAP_ERROR_OTHER_TIMELINE;
        } else {
            use_look(clock, &look, &report);
        }
    }
    clock->facts.last_status = status;
    pthread_mutex_unlock(&clock->lock);
    pthread_mutex_unlock(&clock->looking);
    return status;
}

int rgap_poll(struct rgap* clock) {
    if (clock == NULL) {
        return RGAP_ERROR_ARGUMENT;
    }
    struct model model = rgap_published(clock).model;
    uint64_t now = clock->source.now_ns(clock->source.context);
    if (model.looks >= 2 || now - model.local_ref_ns < clock->second_look_ns) {
        return RGAP_OK;
    }
    return rgap_look(clock);
}

/* Returns 0 if the clock is being destroyed before the time is over. */
static int wait_ns(struct rgap* clock, uint64_t wait) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait / SECOND_NS);
    until.tv_nsec += (long)(wait % SECOND_NS);
    if (until.tv_nsec >= (long)SECOND_NS) {
        until.tv_sec += 1;
        until.tv_nsec -= (long)SECOND_NS;
    }
    int waited = 0;
    pthread_mutex_lock(&clock->lock);
    while (waited != ETIMEDOUT && !clock->stopping) {
        waited = pthread_cond_timedwait(&clock->wake, &clock->lock, &until);
    }
    int goes_on = !clock->stopping;
    pthread_mutex_unlock(&clock->lock);
    return goes_on;
}

static void* look_again(void* argument) {
    struct rgap* clock = argument;
    for (int i = 0; i < BACKGROUND_TRIES && wait_ns(clock, clock->second_look_ns); ++i) {
        if (rgap_look(clock) == RGAP_OK && rgap_published(clock).model.looks >= 2) {
            break;
        }
    }
    return NULL;
}

static void prepare_wake(struct rgap* clock) {
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&clock->wake, &steady);
    pthread_condattr_destroy(&steady);
}

/* In the child of a fork the background thread does not exist, and a look that it had begun is
   void. */
static void go_on_in_child(struct fork_member* member) {
    struct rgap* clock = (struct rgap*)((char*)member - offsetof(struct rgap, forks));
    clock->has_thread = 0;
    pthread_mutex_init(&clock->looking, NULL);
    prepare_wake(clock);
}

static void configure(struct rgap* clock, const struct rgap_config* config) {
    clock->source = config->source;
    rgap_hmac_prepare(&clock->key, config->key, config->key_length);
    clock->limits.rate_limit_ppb = config->rate_limit_ppm * 1e3;
    clock->limits.wander_ppb = config->wander_ppm * 1e3;
    clock->second_look_ns = config->second_look_ns;
    struct filter_rule rule = {config->discard,           config->smallest,
                               config->min_exchanges,     config->max_exchanges,
                               (double)config->spread_ns, config->rate_limit_ppm};
    struct look_order order = {clock->address, config->port, config->user_stamps, clock->source,
                               &clock->key,    rule,         config->deadline_ns};
    clock->order = order;
    prepare_wake(clock);
    pthread_mutex_init(&clock->looking, NULL);
    pthread_mutex_init(&clock->lock, NULL);
    clock->forks.lock = &clock->lock;
    clock->forks.in_child = go_on_in_child;
    rvec_forks_add(&clock->forks);
}

int rgap_create(struct rgap** out, const struct rgap_config* config) {
    if (out == NULL || config == NULL || !is_sensible(config)) {
        return RGAP_ERROR_ARGUMENT;
    }
    *out = NULL;
    struct rgap* clock = calloc(1, sizeof(*clock));
    if (clock == NULL) {
        return RGAP_ERROR_MEMORY;
    }
    clock->address = strdup(config->address);
    if (clock->address == NULL) {
        free(clock);
        return RGAP_ERROR_MEMORY;
    }
    configure(clock, config);
    int status = rgap_look(clock);
    if (status == RGAP_OK && config->background) {
        clock->has_thread = pthread_create(&clock->thread, NULL, look_again, clock) == 0;
        status = clock->has_thread ? RGAP_OK : RGAP_ERROR_SYSTEM;
    }
    if (status != RGAP_OK) {
        rgap_destroy(clock);
        return status;
    }
    *out = clock;
    return RGAP_OK;
}

void rgap_destroy(struct rgap* clock) {
    if (clock == NULL) {
        return;
    }
    if (clock->has_thread) {
        pthread_mutex_lock(&clock->lock);
        clock->stopping = 1;
        pthread_cond_signal(&clock->wake);
        pthread_mutex_unlock(&clock->lock);
        pthread_join(clock->thread, NULL);
    }
    rvec_forks_remove(&clock->forks);
    pthread_cond_destroy(&clock->wake);
    pthread_mutex_destroy(&clock->looking);
    pthread_mutex_destroy(&clock->lock);
    free(clock->address);
    free(clock);
}
