/* RVEC: a strictly increasing, precise clock that is read without a system call.
 *
 * A clock is ECP (strictly increasing and precise) when of two consecutive readings the second is
 * always greater, however close they are, and differences of readings are true durations
 * (Dutra 2015, chapter 6). Here every thread has readers of one timeline that the process shares;
 * the timeline is kept per core as { base_counter, age_time_ns } and is brought up to date only
 * when a thread has migrated, the rate has changed or the counter has jumped.
 *
 *     struct rvec *rvec;
 *     struct rvec_clock clock;
 *     if (rvec_open(&rvec, NULL) != RVEC_OK) ...
 *     rvec_attach_thread(rvec, &clock);
 *     uint64_t start = rvec_read(&clock);
 *
 * C11 and C++20. Guarantees, and what breaks them: docs/reference/clock.md. */
#ifndef AFERIR_RVEC_H
#define AFERIR_RVEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The libraries export what is declared here; everything else in them is hidden. */
#pragma GCC visibility push(default)

enum rvec_status {
    RVEC_OK = 0,
    RVEC_ERROR_ARGUMENT = -1,
    RVEC_ERROR_MEMORY = -2,
    RVEC_ERROR_NOT_INVARIANT = -3, /* no counter of constant rate, and no fallback was allowed */
    RVEC_ERROR_CALIBRATION = -4,   /* counter and reference clock do not agree on a rate */
    RVEC_ERROR_AFFINITY = -5,      /* a thread could not be pinned to a core to measure it */
    RVEC_ERROR_SYSTEM = -6         /* the operating system refused; errno says why */
};

/* One reading of a counter, and the core that it was read on. */
struct rvec_reading {
    uint64_t counter;
    uint32_t core;
};

/* Source of counter and reference times: by default this machine, in tests a simulated one. All
 * functions receive `context`. */
struct rvec_source {
    void* context;
    struct rvec_reading (*read)(void* context);
    uint64_t (*reference_ns)(void* context); /* steady, not disciplined: CLOCK_MONOTONIC_RAW */
    uint64_t (*suspended_ns)(void* context); /* asleep so far: CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    void (*nap)(void* context, uint64_t ns);
    uint64_t frequency_hz; /* 0: to be calibrated */
    uint32_t cores;
};

/* Elapsed nanoseconds = (ticks * mult) >> shift, in 128 bits. */
struct rvec_rate {
    uint64_t mult;
    uint32_t shift;
};

struct rvec_options {
    uint64_t calibration_ns;          /* length of the calibration; 0: default, 20 ms */
    int refuse_fallback;              /* fail rather than fall back to CLOCK_MONOTONIC */
    int measure_offsets;              /* measure every core's counter against the first's */
    int keep_rate;                    /* never refine the rate after rvec_open */
    const struct rvec_source* source; /* NULL: this machine */
};

enum rvec_invariance {
    RVEC_INVARIANCE_NONE,    /* not constant, or rejected by the kernel: fallback in use */
    RVEC_INVARIANCE_CLAIMED, /* the processor claims it, the kernel keeps time by another source */
    RVEC_INVARIANCE_TRUSTED, /* the kernel itself keeps time by this counter */
    RVEC_INVARIANCE_GIVEN    /* the caller's own source */
};

struct rvec_facts {
    char counter[32]; /* "tsc (rdtscp)", "cntvct_el0", "clock_monotonic", "given" */
    double frequency_hz;
    double uncertainty_ppb; /* half-width of the interval that holds the rate, against RAW */
    enum rvec_invariance invariance;
    uint32_t cores;
    uint32_t cores_checked; /* cores whose offsets were measured */
    uint64_t jumps;         /* counter jumps folded in so far */
    uint64_t rate_changes;
    uint64_t doubt_ns;           /* largest error of all folded jumps together */
    double rate_changes_sum_ppb; /* sum of the sizes of all changes of rate */
};

struct rvec_core_offset {
    int measured;
    int64_t offset_ticks;       /* counter of this core minus that of core 0 */
    uint64_t uncertainty_ticks; /* half of the shortest round trip */
    int applied;                /* it exceeded its uncertainty and is subtracted from readings */
};

enum rvec_verdict {
    RVEC_STEADY,
    RVEC_SUSPENDED,   /* the counter stood still while the system slept */
    RVEC_JUMPED,      /* the counter has another value: restore, migration, reset */
    RVEC_RATE_CHANGED /* the counter runs at another rate */
};

/* One reader, owned by one thread. Fields belong to the library; they stand here so that the read
 * can be inlined. */
struct rvec_clock {
    uint64_t age_time_ns; /* time at the counter value base_high * 2^32 */
    uint64_t mult;
    uint32_t base_high;
    uint32_t core;
    uint32_t next;  /* low half of the last reading plus the fewest ticks that add one ns */
    uint32_t limit; /* ticks between two readings after which the counter is cross-checked */
    uint32_t generation;
    uint32_t indirect; /* the counter cannot be read inline */
    const uint32_t* shared_generation;
    struct rvec* rvec;
    uint64_t origin_ns;
    uint64_t floor_ns; /* no later reading may be at or below this */
    uint32_t shift;
    uint32_t ticks_per_ns;
    uint32_t is_process;
};

struct rvec;

/* Calibrates the counter; takes `calibration_ns`. `options` may be NULL. */
int rvec_open(struct rvec** out, const struct rvec_options* options);
void rvec_close(struct rvec* rvec);

/* A clock of the calling thread that starts at 0. Clocks of two threads differ by a constant
 * (Dutra 2015, equation 6.1). */
int rvec_attach_thread(struct rvec* rvec, struct rvec_clock* clock);
/* A reader of the process's timeline (0 at rvec_open) for the calling thread. Readings of all
 * threads are strictly increasing in causal order. */
int rvec_attach_process(struct rvec* rvec, struct rvec_clock* clock);

/* A reading of the process's timeline by a reader that this library keeps per thread, for the
 * last rvec that the thread has asked. */
uint64_t rvec_process_now(struct rvec* rvec);
/* Largest error of the timeline so far: sums over all folded jumps and changes of rate. */
void rvec_process_doubt(const struct rvec* rvec, uint64_t* ns, double* ppb);

/* Time since the clock of `core` was created, read from any core; strictly increasing over all
 * threads by an atomic maximum, so it is slower than rvec_read. */
int rvec_core_read(struct rvec* rvec, uint32_t core, uint64_t* ns);

/* Compares the counter with the reference clock now and folds the difference in. `verdict` may
 * be NULL. Readers notice most jumps themselves. */
int rvec_check(struct rvec* rvec, enum rvec_verdict* verdict);
/* Determines the rate from the whole time since the calibration, if that is more certain. */
int rvec_refine(struct rvec* rvec);
/* States that the counter runs at `hz` from now on (Dutra 2015, 6.1): the time at the old rate
 * is folded, and no check has to notice the change. For a counter that is not invariant, if the
 * caller knows of its changes; readings between a change and this call are at the old rate. */
int rvec_rate_changed(struct rvec* rvec, double hz);
/* Measures each core's counter against core 0's by exchanges between pinned threads. */
int rvec_measure_offsets(struct rvec* rvec);

int rvec_info(struct rvec* rvec, struct rvec_facts* out);
int rvec_get_offset(struct rvec* rvec, uint32_t core, struct rvec_core_offset* out);
int rvec_get_rate(struct rvec* rvec, struct rvec_rate* out);
const char* rvec_strerror(int status);

/* rvec_read for callers that cannot inline C, and the size of the struct that they must
   allocate. */
uint64_t rvec_now(struct rvec_clock* clock);
size_t rvec_clock_size(void);

/* Slow paths of rvec_read; not for callers. */
uint64_t rvec_read_update_(struct rvec_clock* clock, struct rvec_reading reading);
uint64_t rvec_read_indirect_(struct rvec_clock* clock);

#if defined(__x86_64__)
#define RVEC_INLINE_SHIFT 64
/* RDTSCP waits for all earlier loads, so a reading cannot be older than the message that caused
 * it; it gives counter and core number (IA32_TSC_AUX) in one instruction (Intel SDM, volume 2B).
 * A bare RDTSC went backwards in causal order in one of six hand-overs between cores. */
static inline struct rvec_reading rvec_counter(void) {
    uint32_t low, high, core;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(core)::"memory");
    struct rvec_reading reading = {((uint64_t)high << 32) | low, core};
    return reading;
}
#elif defined(__aarch64__)
#define RVEC_INLINE_SHIFT 54
/* CNTVCT_EL0 counts one system-wide counter, so the core does not matter; ISB keeps the read from
 * being executed early (Arm ARM, D11.2). */
static inline struct rvec_reading rvec_counter(void) {
    uint64_t counter;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(counter)::"memory");
    struct rvec_reading reading = {counter, 0};
    return reading;
}
#else
#error "librvec knows the counters of x86-64 and aarch64 only"
#endif

/* Ordered raw counter value, e.g. to count elapsed cycles of the counter. */
static inline uint64_t rvec_ticks(void) { return rvec_counter().counter; }

/* Difference of two readings, correct across one wrap of the counter. */
static inline uint64_t rvec_elapsed_ticks(uint64_t start, uint64_t end) { return end - start; }

static inline uint64_t rvec_ticks_to_ns(struct rvec_rate rate, uint64_t ticks) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)ticks * rate.mult) >> rate.shift);
}

static inline uint64_t rvec_ns_to_ticks(struct rvec_rate rate, uint64_t ns) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((((wide)ns << (rate.shift < 64 ? rate.shift : 63)) / rate.mult)
                      << (rate.shift < 64 ? 0 : 1));
}

/* The part of a read that needs no system: accepts a counter value when nothing has happened.
 *
 * RDTSCP waits until all that stands before it is done, so in a loop of reads each cycle from the
 * counter to the result counts. Hence base_counter is kept a multiple of 2^32: time is then
 * age_time_ns + low * mult, with neither the halves joined nor a base subtracted, and a new high
 * half (each 1 to 4 seconds) brings the reader to the cross-check by itself. Strictness is tested
 * on ticks, beside the multiplication. */
static inline uint64_t rvec_advance_(struct rvec_clock* clock, uint32_t high, uint32_t low,
                                     uint32_t core) {
    __extension__ typedef unsigned __int128 wide;
    if (__builtin_expect(
            core != clock->core || high != clock->base_high ||
                __atomic_load_n(clock->shared_generation, __ATOMIC_ACQUIRE) != clock->generation ||
                low - clock->next >= clock->limit,
            0)) {
        struct rvec_reading reading = {((uint64_t)high << 32) | low, core};
        return rvec_read_update_(clock, reading);
    }
    clock->next = low + clock->ticks_per_ns;
    return clock->age_time_ns + (uint64_t)(((wide)low * clock->mult) >> RVEC_INLINE_SHIFT);
}

/* Time in nanoseconds; strictly greater than every earlier reading of this clock. */
static inline uint64_t rvec_read(struct rvec_clock* clock) {
    if (__builtin_expect(clock->indirect != 0, 0)) {
        return rvec_read_indirect_(clock);
    }
#if defined(__x86_64__)
    uint32_t low, high, core;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(core)::"memory");
    return rvec_advance_(clock, high, low, core);
#else
    struct rvec_reading reading = rvec_counter();
    return rvec_advance_(clock, (uint32_t)(reading.counter >> 32), (uint32_t)reading.counter,
                         reading.core);
#endif
}

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
