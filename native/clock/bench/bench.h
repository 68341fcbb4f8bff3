/* The parts of aferir-clock-bench; each prints JSON lines. */
#ifndef AFERIR_CLOCK_BENCH_H
#define AFERIR_CLOCK_BENCH_H

#include <stdint.h>

#include "aferir/rgap.h"

struct bench_options {
    uint64_t reads;           /* of each kind, for the ECP counts */
    uint32_t rounds;          /* of interleaved cost measurements */
    uint32_t syncs;           /* one-shot synchronisations */
    uint32_t seconds;         /* of watching clocks against their bounds */
    const char* server_netns; /* names under /run/netns; NULL: this one */
    const char* client_netns;
    const char* server_address;
    int server_cpu;
    int user_stamps;
};

/* What each way of reading a clock costs: minimum and median over interleaved rounds. */
int bench_costs(struct rvec* rvec, const struct bench_options* options);
/* Violations of ECP: through forced migrations, and through hand-overs between threads. */
int bench_ecp(struct rvec* rvec, const struct bench_options* options);
/* Violations of ECP by two threads that read clocks of their own, while a third refines them. */
int bench_refinements(const struct bench_options* options);
/* Errors of one-shot synchronisation where both ends read the same clock: the true offset is 0. */
int bench_sync(struct rvec* rvec, const struct bench_options* options);

/* Clocks of injected rates against their own bounds. */
int bench_bound(struct rvec* rvec, const struct bench_options* options);

uint64_t bench_raw_ns(void);
/* Sorts; `part` in [0, 1]. */
double bench_quantile(double* values, uint32_t count, double part);

#endif
