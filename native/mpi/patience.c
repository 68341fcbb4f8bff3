#define _GNU_SOURCE
#include "patience.h"

#include <mpi.h>
#include <stdbool.h>
#include <time.h>

#include "host_clock.h"

/* Both ranks of a pair have to run at the same time for a useful exchange: then each answer comes
 * before the other's patience ends, and they run through all their exchanges. So they spin for
 * longer than a round trip over TCP takes (15 us here). The time varies from wait to wait: pairs
 * that take turns on the same cores with equal patience fall into step, and the two ranks of a pair
 * might never run together. Yielding costs less than 1 us if nobody else wants to run. */
static const uint64_t SPIN_LEAST_NS = 10000, SPIN_RANGE_NS = 40000, YIELD_NS = 2000000;

/* A rank that waits for its turn in the tree sleeps, for longer and longer times, so as to
 * disturb exchanging ranks less and less: it is late by at most half of its wait. */
static const uint64_t BUSY_NS = 20000;
static const long NAP_NS = 20000, LONGEST_NAP_NS = 1000000;

#if defined(OPEN_MPI)
/* With mpi_yield_when_idle, the default if ranks outnumber cores, Open MPI yields the core at
 * each poll. */
extern bool opal_progress_set_yield_when_idle(bool yield) __attribute__((weak));
static int set_mpi_yields(int yield) {
    return &opal_progress_set_yield_when_idle != NULL &&
           opal_progress_set_yield_when_idle(yield != 0);
}
#else
static int set_mpi_yields(int yield) { return yield; }
#endif

void patience_begin(struct patience* patience) {
    patience->moved = 0;
    patience->mpi_yields = set_mpi_yields(0);
}

void patience_end(struct patience* patience) {
    set_mpi_yields(patience->mpi_yields);
    if (patience->moved) {
        sched_setaffinity(0, sizeof(patience->allowed), &patience->allowed);
        patience->moved = 0;
    }
}

/* Spreads durations by multiplying with the golden ratio as a 64-bit odd number, and taking the
 * upper half (Knuth, volume 3, section 6.4). */
static uint64_t spin_ns(uint64_t now) {
    return SPIN_LEAST_NS + ((now * 0x9e3779b97f4a7c15U) >> 32) % SPIN_RANGE_NS;
}

int patience_receive(void* out, int size, int from, int tag, enum patience_kind kind) {
    MPI_Request request;
    int done = 0;
    if (PMPI_Irecv(out, size, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        return 0;
    }
    uint64_t start = host_clock_ns(), spin = spin_ns(start);
    for (long nap = NAP_NS;;) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return 0;
        }
        if (done) {
            return 1;
        }
        uint64_t waited = host_clock_ns() - start;
        if (waited > (kind == PATIENCE_BUSY ? BUSY_NS : YIELD_NS)) {
            struct timespec time = {0, nap};
            nanosleep(&time, NULL);
            nap = nap < LONGEST_NAP_NS ? nap + nap / 2 : nap;
        } else if (waited > spin) {
            sched_yield();
        }
    }
}

void patience_step_aside(struct patience* patience, uint32_t core, uint64_t took_ns) {
    if (took_ns < SPIN_LEAST_NS || core >= CPU_SETSIZE || sched_getcpu() != (int)core ||
        (!patience->moved &&
         sched_getaffinity(0, sizeof(patience->allowed), &patience->allowed) != 0)) {
        return;
    }
    cpu_set_t others = patience->allowed;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof(others), &others) == 0) {
        patience->moved = 1;
    }
}
