#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "clocks.h"

enum { READS_PER_ROUND = 1000 };

/* The sum prevents the compiler from removing the reads. */
static volatile uint64_t sink;

#define TIMED(name, expression)                                              \
    static double time_##name(struct rvec_clock* clock, struct rvec* rvec) { \
        (void)clock;                                                         \
        (void)rvec;                                                          \
        uint64_t sum = 0, start = bench_raw_ns();                            \
        for (int i = 0; i < READS_PER_ROUND; ++i) {                          \
            sum += (expression);                                             \
        }                                                                    \
        uint64_t end = bench_raw_ns();                                       \
        sink = sum;                                                          \
        return (double)(end - start) / READS_PER_ROUND;                      \
    }

#if defined(__x86_64__)
TIMED(rdtsc, clocks_rdtsc())
TIMED(lfence_rdtsc, clocks_lfence_rdtsc())
TIMED(rdtscp, clocks_rdtscp())
#else
TIMED(counter, rvec_ticks())
#endif

static inline uint64_t monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_nsec;
}

TIMED(clock_monotonic, monotonic())
TIMED(rvec, rvec_read(clock))
TIMED(rvec_process_now, rvec_process_now(rvec))
TIMED(rvec_core, clocks_first_core_ns(rvec))

struct contender {
    const char* name;
    double (*time)(struct rvec_clock* clock, struct rvec* rvec);
};

static const struct contender CONTENDERS[] = {
#if defined(__x86_64__)
    {"rdtsc", time_rdtsc},
    {"lfence;rdtsc", time_lfence_rdtsc},
    {"rdtscp", time_rdtscp},
#else
    {"counter", time_counter},
#endif
    {"clock_gettime(CLOCK_MONOTONIC)", time_clock_monotonic},
    {"rvec_read", time_rvec},
    {"rvec_process_now", time_rvec_process_now},
    {"rvec_core_read", time_rvec_core},
};

enum { COUNT = sizeof(CONTENDERS) / sizeof(*CONTENDERS) };

int bench_costs(struct rvec* rvec, const struct bench_options* options) {
    struct rvec_clock clock;
    double* times = malloc(sizeof(double) * COUNT * options->rounds);
    if (times == NULL || rvec_attach_thread(rvec, &clock) != RVEC_OK) {
        free(times);
        return 1;
    }
    for (uint32_t round = 0; round < options->rounds; ++round) {
        for (int i = 0; i < COUNT; ++i) {
            times[(size_t)i * options->rounds + round] = CONTENDERS[i].time(&clock, rvec);
        }
    }
    for (int i = 0; i < COUNT; ++i) {
        double* own = times + (size_t)i * options->rounds;
        double median = bench_quantile(own, options->rounds, 0.5);
        printf(
            "{\"bench\": \"read_cost\", \"clock\": \"%s\", \"rounds\": %u, "
            "\"reads_per_round\": %d, \"min_ns\": %.3f, \"median_ns\": %.3f}\n",
            CONTENDERS[i].name, options->rounds, READS_PER_ROUND, own[0], median);
    }
    free(times);
    return 0;
}
