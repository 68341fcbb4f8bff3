/* Tests the real counter of this machine: readings increase strictly over threads, migrations and
 * hand-overs. */
#define _GNU_SOURCE
#include "aferir/rvec.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static uint64_t raw_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static struct rvec* opened(void) {
    struct rvec* rvec = NULL;
    int status = rvec_open(&rvec, NULL);
    if (status != RVEC_OK) {
        fprintf(stderr, "%s\n", rvec_strerror(status));
    }
    CHECK(status == RVEC_OK);
    return rvec;
}

static void agrees_with_the_reference(void) {
    struct rvec* rvec = opened();
    struct rvec_clock clock;
    CHECK(rvec_attach_thread(rvec, &clock) == RVEC_OK);
    uint64_t before = raw_ns(), start = rvec_read(&clock), after = raw_ns();
    struct timespec nap = {0, 300000000};
    nanosleep(&nap, NULL);
    uint64_t before_end = raw_ns(), end = rvec_read(&clock), after_end = raw_ns();
    uint64_t allowed = (after_end - before) / 10000 + 2000;
    CHECK(end - start + allowed >= before_end - after);
    CHECK(end - start <= after_end - before + allowed);
    struct rvec_facts facts;
    CHECK(rvec_info(rvec, &facts) == RVEC_OK);
    CHECK(facts.jumps == 0);
    CHECK(facts.cores >= 1);
    rvec_close(rvec);
}

static void pinned(uint32_t core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void strict_through_migrations(void) {
    struct rvec* rvec = opened();
    struct rvec_clock clock;
    rvec_attach_thread(rvec, &clock);
    cpu_set_t all;
    sched_getaffinity(0, sizeof(all), &all);
    uint64_t last = 0;
    for (uint32_t round = 0; round < 2000; ++round) {
        pinned(round % 2);
        for (int i = 0; i < 500; ++i) {
            uint64_t now = rvec_read(&clock);
            CHECK(now > last);
            last = now;
        }
    }
    sched_setaffinity(0, sizeof(all), &all);
    rvec_close(rvec);
}

struct relay {
    struct rvec* rvec;
    _Alignas(64) _Atomic uint64_t turn;
    uint64_t last;
    uint64_t violations;
    uint64_t rounds;
};

static void* run_relay(void* argument) {
    struct relay* relay = argument;
    static _Atomic uint64_t runners;
    uint64_t me = atomic_fetch_add(&runners, 1) % 2;
    struct rvec_clock clock;
    rvec_attach_process(relay->rvec, &clock);
    for (uint64_t turn = me; turn < relay->rounds; turn += 2) {
        for (uint64_t spin = 0; atomic_load_explicit(&relay->turn, memory_order_acquire) != turn;
             ++spin) {
            if (spin % 2000 == 1999) {
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

static void strict_through_hand_overs(void) {
    struct relay relay = {opened(), 0, 0, 0, 20000}; /* on a busy machine each takes a time slice */
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(pthread_create(&threads[i], NULL, run_relay, &relay) == 0);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    CHECK(relay.violations == 0);
    rvec_close(relay.rvec);
}

static _Atomic int stop_reading;

static void* read_on(void* argument) {
    struct rvec_clock clock;
    rvec_attach_process(argument, &clock);
    uint64_t last = 0;
    while (!atomic_load(&stop_reading)) {
        uint64_t now = rvec_read(&clock);
        CHECK(now > last);
        last = now;
        uint64_t core_ns;
        CHECK(rvec_core_read(argument, 0, &core_ns) == RVEC_OK);
    }
    return NULL;
}

/* Updates the clock while others read: a case for ThreadSanitizer. */
static void readers_survive_updates(void) {
    struct rvec* rvec = opened();
    pthread_t threads[2];
    atomic_store(&stop_reading, 0);
    for (int i = 0; i < 2; ++i) {
        CHECK(pthread_create(&threads[i], NULL, read_on, rvec) == 0);
    }
    for (int i = 0; i < 50; ++i) {
        struct timespec nap = {0, 4000000};
        nanosleep(&nap, NULL);
        CHECK(rvec_refine(rvec) == RVEC_OK);
        CHECK(rvec_check(rvec, NULL) == RVEC_OK);
    }
    atomic_store(&stop_reading, 1);
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    CHECK(facts.jumps == 0);
    rvec_close(rvec);
}

static void offsets_are_small_here(void) {
    struct rvec* rvec = opened();
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    int status = rvec_measure_offsets(rvec);
    CHECK(status == RVEC_OK || status == RVEC_ERROR_AFFINITY);
    struct rvec_core_offset offset;
    for (uint32_t i = 0; status == RVEC_OK && i < facts.cores; ++i) {
        CHECK(rvec_get_offset(rvec, i, &offset) == RVEC_OK);
        /* A kernel that trusts the counter has synchronised it between cores, so no offset is
         * applied. */
        CHECK(facts.invariance != RVEC_INVARIANCE_TRUSTED || !offset.applied);
    }
    rvec_close(rvec);
}

static void says_what_is_wrong(void) {
    CHECK(rvec_open(NULL, NULL) == RVEC_ERROR_ARGUMENT);
    CHECK(rvec_attach_thread(NULL, NULL) == RVEC_ERROR_ARGUMENT);
    CHECK(rvec_check(NULL, NULL) == RVEC_ERROR_ARGUMENT);
    for (int status = 0; status >= RVEC_ERROR_SYSTEM; --status) {
        CHECK(strcmp(rvec_strerror(status), "unknown status") != 0);
    }
    CHECK(strcmp(rvec_strerror(1), "unknown status") == 0);
}

int main(void) {
    RUN(agrees_with_the_reference);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        RUN(strict_through_migrations);
    }
    RUN(strict_through_hand_overs);
    RUN(readers_survive_updates);
    RUN(offsets_are_small_here);
    RUN(says_what_is_wrong);
    return 0;
}
