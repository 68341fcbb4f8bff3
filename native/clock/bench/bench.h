/* The parts of aferir-clock-bench; each prints JSON lines. */
#ifndef AFERIR_CLOCK_BENCH_H
#define AFERIR_CLOCK_BENCH_H

#include <stdint.h>

#include "aferir/rgap.h"

struct bench_options {
    uint64_t reads;           /* readings of each kind, for the counts of ECP violations */
    uint32_t rounds;          /* interleaved rounds of cost measurements */
    uint32_t syncs;           /* one-shot synchronisations */
    uint32_t seconds;         /* for which clocks are compared with their bounds */
    const char* server_netns; /* names under /run/netns; NULL: this one */
    const char* client_netns;
    const char* server_address;
    int server_cpu;
    int user_stamps;
};

/* Measures the cost of each way of reading a clock: minimum and median of interleaved rounds. */
int bench_costs(struct rvec* rvec, const struct bench_options* options);
/* Counts violations of ECP across forced migrations and across hand-overs between threads. */
int bench_ecp(struct rvec* rvec, const struct bench_options* options);
/* Counts violations of ECP in two threads that read their own clocks while a third refines them. */
int bench_refinements(const struct bench_options* options);
/* Measures errors of single synchronisations if both ends read one clock: the true offset is 0. */
int bench_sync(struct rvec* rvec, const struct bench_options* options);

/* Compares clocks with injected rates with their own bounds. */
int bench_bound(struct rvec* rvec, const struct bench_options* options);

uint64_t bench_raw_ns(void);
/* Quantile `part` (0 to 1) of the values, which are sorted in place. */
double bench_quantile(double* values, uint32_t count, double part);

#endif
