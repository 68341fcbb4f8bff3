#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "bench.h"
#include "cores.h"

enum { READS_PER_MIGRATION = 20000, SPINS_PER_YIELD = 2000 };

struct reader {
    struct rvec* rvec;
    uint64_t reads;
    uint32_t first_core;
    uint64_t violations;
    uint64_t migrations;
};

/* Reads in a loop and moves to another core at intervals. */
static void* read_and_migrate(void* argument) {
    struct reader* reader = argument;
    struct rvec_clock clock;
    rvec_attach_thread(reader->rvec, &clock);
    struct cores cores = cores_usable();
    uint32_t core = reader->first_core;
    uint64_t last = 0, violations = 0;
    for (uint64_t done = 0; done < reader->reads; done += READS_PER_MIGRATION) {
        reader->migrations += cores_move_to(&cores, core++) == 0;
        for (int i = 0; i < READS_PER_MIGRATION; ++i) {
            uint64_t now = rvec_read(&clock);
            violations += now <= last;
            last = now;
        }
    }
    reader->violations = violations;
    return NULL;
}

static void migrations(struct rvec* rvec, uint64_t reads) {
    struct reader readers[2] = {{rvec, reads / 2, 0, 0, 0}, {rvec, reads / 2, 1, 0, 0}};
    pthread_t threads[2];
    uint64_t start = bench_raw_ns();
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, read_and_migrate, &readers[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    printf(
        "{\"bench\": \"ecp\", \"case\": \"migrations\", \"reads\": %llu, \"migrations\": %llu, "
        "\"violations\": %llu, \"seconds\": %.3f}\n",
        (unsigned long long)reads,
        (unsigned long long)(readers[0].migrations + readers[1].migrations),
        (unsigned long long)(readers[0].violations + readers[1].violations),
        (double)(bench_raw_ns() - start) / 1e9);
}

struct relay {
    struct rvec* rvec;
    uint64_t turns;
    _Alignas(128) _Atomic uint64_t turn;
    uint64_t last;
    uint64_t violations;
};

struct runner {
    struct relay* relay;
    uint32_t core;
};

static void* run(void* argument) {
    struct runner* runner = argument;
    struct relay* relay = runner->relay;
    struct rvec_clock clock;
    struct cores cores = cores_usable();
    cores_move_to(&cores, runner->core);
    rvec_attach_process(relay->rvec, &clock);
    for (uint64_t turn = runner->core; turn < relay->turns; turn += 2) {
        for (uint32_t spins = 1; atomic_load_explicit(&relay->turn, memory_order_acquire) != turn;
             ++spins) {
            if (spins % SPINS_PER_YIELD == 0) {
                sched_yield();
            }
        }
        uint64_t now = rvec_read(&clock);
        relay->violations += now <= relay->last;
        relay->last = now;
        atomic_store_explicit(&relay->turn, turn + 1, memory_order_release);
    }
    return NULL;
}

static void hand_overs(struct rvec* rvec, uint64_t turns) {
    struct relay relay = {rvec, turns, 0, 0, 0};
    struct runner runners[2] = {{&relay, 0}, {&relay, 1}};
    pthread_t threads[2];
    uint64_t start = bench_raw_ns();
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, run, &runners[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    printf(
        "{\"bench\": \"ecp\", \"case\": \"hand_overs\", \"reads\": %llu, "
        "\"violations\": %llu, \"seconds\": %.3f}\n",
        (unsigned long long)turns, (unsigned long long)relay.violations,
        (double)(bench_raw_ns() - start) / 1e9);
}

int bench_ecp(struct rvec* rvec, const struct bench_options* options) {
    migrations(rvec, options->reads);
    hand_overs(rvec, options->reads / 100);
    return 0;
}
