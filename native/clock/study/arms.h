/* Every clock that a program can read on this machine, as arms of a study.
 *
 * STUDY_CLOCKS(X) expands X(identifier, name, ticks, expression) for each; `expression` reads it
 * with `struct arm* arm` in sight, in ticks of the counter or in nanoseconds. */
#ifndef AFERIR_CLOCK_ARMS_H
#define AFERIR_CLOCK_ARMS_H

#include <stddef.h>
#include <stdint.h>

#include "clocks.h"

/* What a thread needs to read any of the clocks; not shared between threads. */
struct arm {
    struct rvec* rvec;
    struct rvec_clock thread;
    struct rvec_clock process;
};

int arm_open(struct arm* arm, struct rvec* rvec);

#if defined(__x86_64__)
#define STUDY_COUNTERS(X)                                     \
    X(rdtsc, "rdtsc", 1, clocks_rdtsc())                      \
    X(lfence_rdtsc, "lfence;rdtsc", 1, clocks_lfence_rdtsc()) \
    X(rdtscp, "rdtscp", 1, clocks_rdtscp())
#else
#define STUDY_COUNTERS(X) X(counter, "isb;cntvct", 1, rvec_ticks())
#endif

#define STUDY_CLOCKS(X)                                                              \
    STUDY_COUNTERS(X)                                                                \
    X(rvec_thread, "rvec thread", 0, rvec_read(&arm->thread))                        \
    X(rvec_process, "rvec process", 0, rvec_read(&arm->process))                     \
    X(rvec_core, "rvec core", 0, clocks_first_core_ns(arm->rvec))                    \
    X(monotonic, "CLOCK_MONOTONIC", 0, clocks_system_ns(CLOCK_MONOTONIC))            \
    X(raw, "CLOCK_MONOTONIC_RAW", 0, clocks_system_ns(CLOCK_MONOTONIC_RAW))          \
    X(coarse, "CLOCK_MONOTONIC_COARSE", 0, clocks_system_ns(CLOCK_MONOTONIC_COARSE)) \
    X(boottime, "CLOCK_BOOTTIME", 0, clocks_system_ns(CLOCK_BOOTTIME))               \
    X(realtime, "CLOCK_REALTIME", 0, clocks_system_ns(CLOCK_REALTIME))               \
    X(tai, "CLOCK_TAI", 0, clocks_system_ns(CLOCK_TAI))                              \
    X(gettimeofday, "gettimeofday", 0, clocks_gettimeofday_ns())                     \
    X(cpu_time, "CLOCK_THREAD_CPUTIME_ID", 0, clocks_system_ns(CLOCK_THREAD_CPUTIME_ID))

/* Place of a clock in the list, e.g. ARM_rdtsc. */
#define STUDY_PLACE(id, name, ticks, expression) ARM_##id,
enum { STUDY_CLOCKS(STUDY_PLACE) ARMS };
#undef STUDY_PLACE

extern const char* const ARM_NAMES[ARMS];
extern const int ARM_IN_TICKS[ARMS];

/* Whether this processor has the clock at `place`: some emulated processors lack RDTSCP. */
int arm_is_there(int place);
/* Places of the clocks that this processor has; returns their number. */
int arms_here(int places[ARMS]);

#endif
