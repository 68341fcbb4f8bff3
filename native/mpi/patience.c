#define _GNU_SOURCE
#include "patience.h"

#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_clock.h"

/* A round trip over a fast network is over before the first, one over TCP before the second. To let
 * others run costs less than 1 us where there are none. */
static const uint64_t SPIN_NS = 5000, BUSY_NS = 50000, YIELD_NS = 2000000;
static const struct timespec NAP = {0, 20000};

/* struct sched_attr of sched_setattr(2), which glibc 2.36 does not declare; first version. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

static const uint64_t SLICE_NS = 100000; /* the shortest that the kernel takes */

static int set_slice(uint64_t ns) {
    struct attributes own = {0};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) != 0 || own.policy != SCHED_OTHER) {
        return 0;
    }
    own.size = sizeof(own);
    own.runtime = ns;
    return syscall(SYS_sched_setattr, 0, &own, 0) == 0;
}

/* Since Linux 6.12 sched_runtime is the slice of an ordinary thread; before, it is ignored. */
void patience_begin(struct patience* patience) {
    struct attributes own = {0};
    patience->changed = 0;
    if (syscall(SYS_sched_getattr, 0, &own, sizeof(own), 0) == 0) {
        patience->slice_ns = own.runtime;
        patience->changed = set_slice(SLICE_NS);
    }
}

/* A slice of 0 asks for the kernel's own. A length that was asked for cannot be told from that one
 * but by comparing them. */
void patience_end(const struct patience* patience) {
    struct attributes now = {0};
    if (patience->changed && set_slice(0) &&
        syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0) == 0 &&
        now.runtime != patience->slice_ns) {
        set_slice(patience->slice_ns);
    }
}

int patient_receive(void* out, int size, int from, int tag, enum patience_kind kind) {
    MPI_Request request;
    int done = 0;
    if (PMPI_Irecv(out, size, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        return 0;
    }
    for (uint64_t start = host_clock_ns();;) {
        if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return 0;
        }
        if (done) {
            return 1;
        }
        uint64_t waited = host_clock_ns() - start;
        if (waited > (kind == PATIENCE_BUSY ? BUSY_NS : YIELD_NS)) {
            nanosleep(&NAP, NULL);
        } else if (waited > SPIN_NS) {
            sched_yield();
        }
    }
}
