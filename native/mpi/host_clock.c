#define _GNU_SOURCE
#include "host_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host_page.h"
#include "machine.h"
#include "rate.h"

static const uint64_t CHECK_NS = 100000000;
enum { TRIES = 16, PATIENCE = 2000 };

static struct rvec_source source;
static struct witness first_look;
static int uses_counter;
static struct host_page* _Atomic seen;
static struct host_page* _Atomic joined;
static char joined_name[HOST_CLOCK_NAME]; /* MPI_Init changes what a name is made of */

/* A thread's copy of the timeline. */
struct reader {
    uint64_t base_counter;
    uint64_t base_ns;
    struct rvec_rate rate;
    uint32_t generation; /* 0: none yet */
    uint64_t from;       /* counter at the last check ... */
    uint64_t span;       /* ... and ticks until the next is due */
};

static _Thread_local struct reader reader;

static uint64_t raw_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

void host_clock_prepare(void) {
    uses_counter = rvec_machine_invariance() != RVEC_INVARIANCE_NONE;
    source = uses_counter ? rvec_machine_counter() : rvec_machine_fallback();
    first_look = rvec_calibration_look(&source, NULL, TRIES);
}

static uint64_t mix(uint64_t hash, const char* text) {
    for (; text != NULL && *text != '\0'; ++text) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3U; /* FNV-1a */
    }
    return hash * 0x100000001b3U;
}

/* Identifies the launcher by the process that made the socket to it (PMI, of Hydra and Slurm): the
 * same for all ranks of a host, different for each job. 0 if there is none, or it is unknown. */
static uint64_t launcher(void) {
    const char* number = getenv("PMI_FD");
    struct ucred peer = {0, 0, 0};
    socklen_t size = sizeof(peer);
    int known = number != NULL && getsockopt((int)strtol(number, NULL, 10), SOL_SOCKET, SO_PEERCRED,
                                             &peer, &size) == 0;
    return known && peer.pid > 0 ? (uint64_t)peer.pid : 0;
}

/* Names the job after the IDs that the user and the launcher give it, and after the host:
 * containers and namespaces with host names of their own count as hosts, even if they share memory.
 *
 * Ranks left behind by a killed job may still start while a new job of the same name does, and must
 * not join it; so the launcher's process is part of the name, too. Without any of these, the name
 * comes from the ranks' common parent. If each rank has a shell of its own as parent, ranks do not
 * find each other's page, and synchronise by messages. */
void host_clock_name(char out[HOST_CLOCK_NAME]) {
    struct utsname system;
    uint64_t hash = mix(0xcbf29ce484222325U, getenv("AFERIR_MPI_JOB"));
    hash = mix(hash, getenv("PMIX_NAMESPACE"));
    hash = mix(hash, uname(&system) == 0 ? system.nodename : "");
    uint64_t maker = launcher();
    if (maker == 0 && getenv("AFERIR_MPI_JOB") == NULL && getenv("PMIX_NAMESPACE") == NULL) {
        maker = (uint64_t)getppid();
    }
    hash ^= maker << 32;
    snprintf(out, HOST_CLOCK_NAME, "/aferir-mpi-%u-%016" PRIx64, (unsigned)geteuid(), hash);
}

void host_clock_find(const char* name) { atomic_store(&seen, host_page_find(name)); }

void host_clock_attach(const char* name) {
    struct host_page* page = atomic_exchange(&seen, NULL);
    snprintf(joined_name, sizeof(joined_name), "%s", name);
    atomic_store(&joined, host_page_join(page, name, &first_look, uses_counter));
}

static struct rvec_rate page_rate(const struct host_page* page) {
    struct rvec_rate rate = {atomic_load_explicit(&page->mult, memory_order_relaxed),
                             atomic_load_explicit(&page->shift, memory_order_relaxed)};
    return rate;
}

/* Starts an update: until set_timeline(), no thread reads by the timeline. Callers of both
   functions hold the lock. */
static void begin_update(struct host_page* page) {
    uint32_t generation = atomic_load_explicit(&page->generation, memory_order_relaxed);
    atomic_store_explicit(&page->generation, generation | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static void set_timeline(struct host_page* page, uint64_t counter, uint64_t ns,
                         struct rvec_rate rate) {
    atomic_store_explicit(&page->base_counter, counter, memory_order_relaxed);
    atomic_store_explicit(&page->base_ns, ns, memory_order_relaxed);
    atomic_store_explicit(&page->mult, rate.mult, memory_order_relaxed);
    atomic_store_explicit(&page->shift, rate.shift, memory_order_relaxed);
    atomic_fetch_add_explicit(&page->generation, 1, memory_order_release);
}

static uint64_t timeline_at(const struct host_page* page, uint64_t counter) {
    uint64_t base = atomic_load_explicit(&page->base_counter, memory_order_relaxed);
    return atomic_load_explicit(&page->base_ns, memory_order_relaxed) +
           (uint64_t)rate_ns(page_rate(page), (int64_t)(counter - base));
}

static int try_lock(struct host_page* page) {
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(&page->lock, &expected, 1);
}

static void unlock(struct host_page* page) { atomic_store(&page->lock, 0); }

/* Sets the rate from the whole time since the first look. A rate that the quick read cannot convert
 * (on x86-64, of a counter below 1 GHz) is not set, and the reference is read as before. If the
 * timeline is in use, it continues from a counter value read once no thread uses the old rate. */
static void set_rate(struct host_page* page, const struct witness* now) {
    struct calibration better;
    if (rvec_calibration_between(&page->calibration.first, now, &better) == RVEC_OK) {
        struct rvec_rate rate = rvec_rate_make(better.ns_per_tick);
        if (rate.mult != 0 && rate.shift == RVEC_INLINE_SHIFT) {
            int in_use = atomic_load(&page->generation) != 0;
            page->calibration = better;
            begin_update(page);
            uint64_t counter = in_use ? rvec_ticks() : now->counter;
            uint64_t ns = in_use ? timeline_at(page, counter) : now->reference_ns;
            set_timeline(page, counter, ns, rate);
        }
    }
    page->checked = *now;
}

void host_clock_leave(void) { host_page_unlink(atomic_load(&joined), joined_name); }

void host_clock_calibrate(void) {
    struct host_page* page = atomic_load(&joined);
    host_page_unlink(page, joined_name);
    /* A thread that finds the lock taken does not wait: until the rate is known, it reads the
       reference. */
    if (page->uses_counter && try_lock(page)) {
        if (atomic_load(&page->generation) == 0) {
            struct witness now = rvec_calibration_look(&source, NULL, TRIES);
            set_rate(page, &now);
        }
        unlock(page);
    }
}

/* Takes a look at the reference clock; the first process that is due does it for all. It finds
 * whether the counter has jumped, as when a machine is suspended or moved, and whether its rate can
 * now be determined better. */
static void check(struct host_page* page) {
    struct witness now = rvec_calibration_look(&source, NULL, TRIES);
    struct suspicion suspicion = {page->suspect, CHECK_NS};
    struct judgement found = rvec_judge(&page->checked, &now, page_rate(page),
                                        page->calibration.uncertainty_ppb, suspicion);
    page->suspect = found.verdict == RVEC_JUMPED ? found.ns_per_tick : 0;
    if (found.verdict != RVEC_STEADY) {
        uint64_t ns = timeline_at(page, page->checked.counter) + found.elapsed_ns;
        int fits = found.rate.shift == RVEC_INLINE_SHIFT;
        begin_update(page);
        set_timeline(page, now.counter, ns, fits ? found.rate : page_rate(page));
        page->calibration.first = page->calibration.last = page->checked = now;
        return;
    }
    uint64_t used = page->calibration.last.counter - page->calibration.first.counter;
    uint64_t had = now.counter - page->calibration.first.counter;
    if (had / 4 >= used && had > rvec_rate_ticks_at_least(page_rate(page), CHECK_NS)) {
        set_rate(page, &now);
    }
    page->checked = now;
}

static int reload(const struct host_page* page) {
    for (int i = 0; i < PATIENCE; ++i) {
        uint32_t before = atomic_load_explicit(&page->generation, memory_order_acquire);
        reader.base_counter = atomic_load_explicit(&page->base_counter, memory_order_relaxed);
        reader.base_ns = atomic_load_explicit(&page->base_ns, memory_order_relaxed);
        reader.rate = page_rate(page);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 &&
            before == atomic_load_explicit(&page->generation, memory_order_relaxed)) {
            reader.generation = before;
            return before != 0;
        }
    }
    return 0;
}

static uint64_t slow_ns(void) {
    struct host_page* page = atomic_load_explicit(&joined, memory_order_acquire);
    if (!uses_counter || page == NULL ||
        atomic_load_explicit(&page->generation, memory_order_acquire) == 0) {
        return raw_ns();
    }
    if (rvec_ticks() - reader.from >= reader.span && try_lock(page)) {
        if (rvec_ticks() - page->checked.counter >=
            rvec_rate_ticks_at_least(page_rate(page), CHECK_NS) / 2) {
            check(page);
        }
        unlock(page);
    }
    if (!reload(page)) {
        return raw_ns();
    }
    uint64_t counter = rvec_ticks();
    int64_t since_base = (int64_t)(counter - reader.base_counter);
    reader.from = since_base > 0 ? counter : reader.base_counter;
    reader.span = rvec_rate_ticks_at_least(reader.rate, CHECK_NS);
    return reader.base_ns + (uint64_t)rate_ns(reader.rate, since_base);
}

/* A counter before reader.from, e.g. that of a core that lags, becomes a very large unsigned
 * difference, and so takes the slow path. */
uint64_t host_clock_ns(void) {
    if (__builtin_expect(!uses_counter, 0)) {
        return slow_ns(); /* an old processor has no RDTSCP */
    }
    const struct host_page* page = atomic_load_explicit(&joined, memory_order_acquire);
    uint64_t counter = rvec_ticks();
    if (__builtin_expect(
            page == NULL || counter - reader.from >= reader.span ||
                atomic_load_explicit(&page->generation, memory_order_acquire) != reader.generation,
            0)) {
        return slow_ns();
    }
    rvec_wide ticks = counter - reader.base_counter;
    return reader.base_ns + (uint64_t)((ticks * reader.rate.mult) >> RVEC_INLINE_SHIFT);
}

uint64_t host_clock_identity(void) { return atomic_load(&joined)->identity; }

uint32_t host_clock_attached(void) { return atomic_load(&atomic_load(&joined)->attached); }

/* Resolution in seconds: readings are whole nanoseconds, so it is 1 ns unless the counter is
 * slower. */
double host_clock_tick_s(void) {
    const struct host_page* page = atomic_load_explicit(&joined, memory_order_acquire);
    double ns = 1;
    if (page != NULL && atomic_load_explicit(&page->generation, memory_order_acquire) != 0) {
        double tick = rvec_rate_ns_per_tick(page_rate(page));
        ns = tick > 1 ? tick : 1;
    }
    return ns * 1e-9;
}
