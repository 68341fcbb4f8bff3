/* MPI_Wtime as one strictly increasing time for all ranks: the C entry points.
 *
 * Preloaded before the MPI library. Each function here replaces MPI's and calls the original by its
 * name in the profiling interface (MPI 3.1, section 14.2). */
#define _GNU_SOURCE
#include "interpose.h"

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host_clock.h"
#include "sync.h"

static struct sync_result synchronised;
static struct look_result* _Atomic global_time; /* of `synchronised`, once it is there */
static atomic_int depth;
static int is_attached, is_calibrated;  /* written within the outermost MPI_Init alone */
static uint64_t added_ns, added_cpu_ns; /* to MPI_Init, by us: on the wall, and of a core */

static char page_name[HOST_CLOCK_NAME]; /* MPI_Init changes what it is made of */

/* Runs as soon as the process starts: the longer the counter is watched, the better its rate, and a
 * rank that loses its core within MPI_Init makes all others wait. Looks for the page, but neither
 * makes nor joins it: the process may be a shell that starts the program. It has this library
 * loaded, too, but is no rank, and would leave a page that nobody removes. */
__attribute__((constructor)) static void prepare(void) {
    host_clock_prepare();
    host_clock_name(page_name);
    host_clock_find(page_name);
}

static int wants_report(void) {
    const char* wish = getenv("AFERIR_MPI_REPORT");
    return wish != NULL && *wish != '\0' && *wish != '0';
}

enum { LONGEST_RATE_MS = 60000 };

static uint32_t wants_rate_ms(void) {
    const char* wish = getenv("AFERIR_MPI_RATE_MS");
    long ms = wish == NULL ? 0 : strtol(wish, NULL, 10);
    if (ms <= 0) {
        return 0;
    }
    return ms < LONGEST_RATE_MS ? (uint32_t)ms : LONGEST_RATE_MS;
}

static uint64_t cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* A second call of MPI_Init is the program's error, which MPI reports; the time set by the first
 * call stays. */
void interpose_before_init(void) {
    if (atomic_fetch_add(&depth, 1) != 0 || is_attached) {
        return;
    }
    is_attached = 1;
    uint64_t start_cpu = cpu_ns(), start = host_clock_ns();
    host_clock_attach(page_name);
    added_ns = host_clock_ns() - start;
    added_cpu_ns = cpu_ns() - start_cpu;
}

static void report_init(void) {
    const struct sync_result* s = &synchronised;
    fprintf(stderr,
            "aferir-mpi: {\"rank\": %u, \"host\": %u, \"hosts\": %u, \"global\": %s, "
            "\"offset_ns\": %" PRId64 ", \"doubt_ns\": %" PRIu64 ", \"min_rtt_ns\": %" PRId64
            ", \"exchanges\": %u, \"sync_ns\": %" PRIu64 ", \"added_ns\": %" PRIu64
            ", \"added_cpu_ns\": %" PRIu64 ", \"rate_ppb\": %.1f, \"rate_doubt_ppb\": %.1f}\n",
            s->rank, s->host, s->hosts, s->ok ? "true" : "false", s->look.offset_ns,
            s->look.doubt_ns, s->look.min_rtt_ns, s->look.exchanges, s->duration_ns, added_ns,
            added_cpu_ns, s->look.rate_ppb, s->look.rate_doubt_ppb);
}

void interpose_after_init(int status) {
    if (atomic_fetch_sub(&depth, 1) != 1 || is_calibrated) {
        return;
    }
    if (status != MPI_SUCCESS) {
        host_clock_leave();
        return;
    }
    is_calibrated = 1;
    uint64_t start_cpu = cpu_ns(), start = host_clock_ns();
    host_clock_calibrate();
    struct sync_wish wish = {wants_report(), wants_rate_ms()};
    sync_world(&wish, &synchronised);
    if (synchronised.ok) {
        atomic_store(&global_time, &synchronised.look);
    }
    added_ns += host_clock_ns() - start;
    added_cpu_ns += cpu_ns() - start_cpu;
    if (synchronised.report) {
        report_init();
    }
}

/* Reports how far the hosts' clocks have deviated from their offsets and rates, which cannot be
 * known before the job ends. */
void interpose_before_finalize(void) {
    if (!synchronised.report || !synchronised.ok || synchronised.hosts < 2) {
        return;
    }
    struct sync_result again;
    struct sync_wish wish = {1, 0};
    sync_world(&wish, &again);
    if (again.ok && again.leads) {
        int64_t shift = (int64_t)(again.epoch_shift_ns - synchronised.epoch_shift_ns);
        fprintf(
            stderr, "aferir-mpi: {\"rank\": %u, \"strayed_ns\": %" PRId64 "}\n", again.rank,
            again.look.offset_ns - shift - look_offset_at(&synchronised.look, again.look.local_ns));
    }
}

/* A double holds a host's nanoseconds exactly for 104 days and its time in seconds for 48 days.
 * After that two readings may round to the same value, so the values returned are themselves kept
 * strictly increasing. */
double interpose_wtime(void) {
    static _Thread_local double last;
    const struct look_result* time = atomic_load_explicit(&global_time, memory_order_acquire);
    uint64_t local = host_clock_ns();
    int64_t offset = time == NULL ? 0 : look_offset_at(time, local);
    double now = (double)((int64_t)local + offset) * 1e-9;
    if (__builtin_expect(now <= last, 0)) {
        now = nextafter(last, INFINITY);
    }
    last = now;
    return now;
}

double interpose_wtick(void) { return host_clock_tick_s(); }

int interpose_is_global(void) { return atomic_load(&global_time) != NULL; }

int MPI_Init(int* argc, char*** argv) {
    interpose_before_init();
    int status = PMPI_Init(argc, argv);
    interpose_after_init(status);
    return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    interpose_before_init();
    int status = PMPI_Init_thread(argc, argv, required, provided);
    interpose_after_init(status);
    return status;
}

#if MPI_VERSION >= 4
/* A session has no communicator of all processes that could agree on one time, so its processes get
 * a clock for each host (MPI 4.0, section 11.3). */
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
    static atomic_int said;
    if (!interpose_is_global() && atomic_exchange(&said, 1) == 0) {
        fputs("aferir-mpi: MPI_Session_init: MPI_Wtime is not global without MPI_Init\n", stderr);
    }
    return PMPI_Session_init(info, handler, session);
}
#endif

int MPI_Finalize(void) {
    interpose_before_finalize();
    return PMPI_Finalize();
}

double MPI_Wtime(void) { return interpose_wtime(); }

double MPI_Wtick(void) { return interpose_wtick(); }

/* Answers a query for MPI_WTIME_IS_GLOBAL on MPI_COMM_WORLD with true if our clock is global; other
 * queries keep MPI's answer. The value is a pointer to int (MPI 3.1, section 8.1.2). */
static void claim_global(MPI_Comm comm, int keyval, void* value, int* flag, int status) {
    static int yes = 1;
    if (status == MPI_SUCCESS && comm == MPI_COMM_WORLD && keyval == MPI_WTIME_IS_GLOBAL &&
        interpose_is_global()) {
        *(int**)value = &yes;
        *flag = 1;
    }
}

int MPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
    int status = PMPI_Comm_get_attr(comm, comm_keyval, attribute_val, flag);
    claim_global(comm, comm_keyval, attribute_val, flag, status);
    return status;
}

/* Deprecated since MPI 2.0 and still called. */
int MPI_Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
    int status = PMPI_Comm_get_attr(comm, keyval, attribute_val, flag);
    claim_global(comm, keyval, attribute_val, flag, status);
    return status;
}
