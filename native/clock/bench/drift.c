/* Tests whether a clock stays inside its own bound, at injected rates, over symmetric and
   asymmetric paths. */
#define _GNU_SOURCE
#include "drift.h"

#include <stdio.h>
#include <time.h>

#include "bench.h"
#include "proxy.h"

static const uint8_t KEY[] = "aferir-clock-bench: a key for this run alone";
static const double RATES_PPM[] = {0, 5, -5, 30, -30, 100, -100};
enum { RATES = sizeof(RATES_PPM) / sizeof(*RATES_PPM), PATHS = 2, CLOCKS = RATES * PATHS };
/* Longest time that one look takes: the asymmetric path's jitter is always too large for the rule
 * that would end a look earlier. */
enum { LOOK_NS = 300000000 };

struct subject {
    struct drifting_clock local;
    struct rgap* clock;
    uint64_t checks;
    uint64_t outside;
    double worst_part; /* largest share of the bound that an error reached */
    double worst_error_ns;
    uint64_t last_bound_ns;
};

static struct rgap_config config_for(struct subject* subject, uint16_t port) {
    struct rgap_config config;
    rgap_config_init(&config);
    config.address = "127.0.0.1";
    config.port = port;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = drifting_source(&subject->local);
    config.deadline_ns = LOOK_NS;
    return config;
}

/* Compares the clock with the process clock: the true time, because the server serves it. */
static void check(struct rvec* rvec, struct subject* subject) {
    uint64_t time, bound;
    uint64_t before = rvec_process_now(rvec);
    rgap_now(subject->clock, &time, &bound);
    uint64_t after = rvec_process_now(rvec);
    int64_t ahead = (int64_t)(time - after), behind = (int64_t)(before - time);
    /* lower bound of the error, in either direction */
    int64_t error = ahead > behind ? ahead : behind;
    double part = (double)error / (double)bound;
    subject->checks += 1;
    subject->outside += error > (int64_t)bound;
    subject->worst_part = part > subject->worst_part ? part : subject->worst_part;
    subject->last_bound_ns = bound;
    subject->worst_error_ns =
        (double)error > subject->worst_error_ns ? (double)error : subject->worst_error_ns;
}

static void print(struct subject* subject, const char* path) {
    struct rgap_facts facts;
    rgap_info(subject->clock, &facts);
    printf(
        "{\"bench\": \"bound\", \"path\": \"%s\", \"injected_ppm\": %g, \"looks\": %u, "
        "\"rate_ppm\": %.6f, \"rate_error_ppm\": %.6f, \"rate_doubt_ppm\": %.4f, "
        "\"checks\": %llu, \"outside\": %llu, \"worst_error_ns\": %.0f, "
        "\"worst_part_of_bound\": %.4f, \"last_bound_ns\": %llu}\n",
        path, subject->local.rate_ppm, facts.looks, facts.rate_ppm,
        facts.rate_ppm - (1e6 / (1e6 + subject->local.rate_ppm) - 1) * 1e6, facts.rate_doubt_ppm,
        (unsigned long long)subject->checks, (unsigned long long)subject->outside,
        subject->worst_error_ns, subject->worst_part, (unsigned long long)subject->last_bound_ns);
}

enum { CHECKS = 10000 };

static void observe(struct rvec* rvec, struct subject* subjects, const struct bench_options* o) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t i = 1; i <= CHECKS; ++i) {
        for (int s = 0; s < CLOCKS; ++s) {
            check(rvec, &subjects[s]);
        }
        /* Sleeps until a time, not for a duration: a sleep of a millisecond may take four. */
        uint64_t next = (uint64_t)start.tv_nsec + i * o->seconds * 1000000000U / CHECKS;
        struct timespec until = {start.tv_sec + (time_t)(next / 1000000000U),
                                 (long)(next % 1000000000U)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
}

static int prepare(struct rvec* rvec, struct subject* subjects, uint16_t direct, uint16_t uneven) {
    for (int s = 0; s < CLOCKS; ++s) {
        struct subject* subject = &subjects[s];
        struct subject fresh = {{rvec, RATES_PPM[s % RATES], 123456789U}, NULL, 0, 0, 0, 0, 0};
        *subject = fresh;
        struct rgap_config config = config_for(subject, s < RATES ? direct : uneven);
        int status = rgap_create(&subject->clock, &config);
        if (status != RGAP_OK) {
            fprintf(stderr, "clock %d: %s\n", s, rgap_strerror(status));
            return 1;
        }
    }
    struct timespec second = {1, 100000000};
    nanosleep(&second, NULL);
    for (int s = 0; s < CLOCKS; ++s) {
        if (rgap_poll(subjects[s].clock) != RGAP_OK) {
            return 1;
        }
    }
    return 0;
}

int bench_bound(struct rvec* rvec, const struct bench_options* options) {
    struct rgap_server_config config;
    struct rgap_server* server;
    struct rgap_server_facts facts;
    rgap_server_config_init(&config);
    config.address = "127.0.0.1";
    config.port = 0;
    config.key = KEY;
    config.key_length = sizeof(KEY);
    config.source = rgap_source_rvec(rvec);
    if (rgap_server_start(&server, &config) != RGAP_OK) {
        return 1;
    }
    rgap_server_info(server, &facts);
    const struct proxy_path uneven = {20000, 220000, 50000, 0, 0, 0};
    struct proxy* proxy = proxy_start(facts.port, &uneven, 1);
    struct subject subjects[CLOCKS] = {0};
    int failed = proxy == NULL || prepare(rvec, subjects, facts.port, proxy_port(proxy));
    if (!failed) {
        observe(rvec, subjects, options);
    }
    for (int s = 0; s < CLOCKS; ++s) {
        if (!failed) {
            print(&subjects[s], s < RATES ? "direct" : "200 us uneven");
        }
        rgap_destroy(subjects[s].clock);
    }
    proxy_stop(proxy);
    rgap_server_stop(server);
    return failed;
}
