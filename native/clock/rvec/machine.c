#define _GNU_SOURCE
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static uint64_t clock_ns(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static uint64_t reference_ns(void* context) {
    (void)context;
    return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* CLOCK_BOOTTIME is CLOCK_MONOTONIC plus the time asleep (clock_gettime(2)), so the difference is
 * free of NTP. Read in this order a delay between the two could only hide a sleep, so take the
 * smallest of three. */
static uint64_t suspended_ns(void* context) {
    (void)context;
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 3; ++i) {
        uint64_t awake = clock_ns(CLOCK_MONOTONIC);
        uint64_t all = clock_ns(CLOCK_BOOTTIME);
        smallest = all - awake < smallest ? all - awake : smallest;
    }
    return smallest;
}

static void nap(void* context, uint64_t ns) {
    (void)context;
    struct timespec time = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    nanosleep(&time, NULL);
}

static struct rvec_reading read_counter(void* context) {
    (void)context;
    return rvec_counter();
}

/* The fallback is its own reference: NTP may slew CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW, and
 * that is no jump. What remains to be noticed is sleep. */
static uint64_t monotonic_ns(void* context) {
    (void)context;
    return clock_ns(CLOCK_MONOTONIC);
}

static struct rvec_reading read_monotonic(void* context) {
    struct rvec_reading reading = {monotonic_ns(context), 0};
    return reading;
}

static uint32_t core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_CONF);
    return cores > 0 ? (uint32_t)cores : 1;
}

static int has_word(const char* list, const char* word) {
    size_t length = strlen(word);
    for (const char* at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        int starts = at == list || at[-1] == ' ';
        int ends = at[length] == '\0' || at[length] == ' ' || at[length] == '\n';
        if (starts && ends) {
            return 1;
        }
    }
    return 0;
}

enum rvec_invariance rvec_machine_judge_sources(int claimed, const char* current,
                                                const char* available, const char* name) {
    if (has_word(current, name)) {
        return RVEC_INVARIANCE_TRUSTED;
    }
    /* A guest that prefers its hypervisor's clock page still lists the counter; a kernel whose
     * watchdog has found the counter unstable takes it off the list. */
    if (claimed && has_word(available, name)) {
        return RVEC_INVARIANCE_CLAIMED;
    }
    return RVEC_INVARIANCE_NONE;
}

#if defined(__x86_64__)

static int has_rdtscp(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001U, &a, &b, &c, &d) && (d >> 27 & 1);
}

/* CPUID 0x80000007 EDX bit 8: the TSC runs at a constant rate in all P-, C- and T-states (AMD APM
 * volume 3, appendix E; Intel SDM volume 3, 18.17.1). */
static int claims_invariance(void) {
    unsigned a, b, c, d;
    return has_rdtscp() && __get_cpuid(0x80000007U, &a, &b, &c, &d) && (d >> 8 & 1);
}

/* CPUID 0x15: crystal frequency and its ratio to the TSC; zero where unknown, as on most virtual
 * machines and all AMD processors. */
static uint64_t stated_frequency(void) {
    unsigned denominator, numerator, crystal, d;
    if (!__get_cpuid(0x15U, &denominator, &numerator, &crystal, &d) || denominator == 0 ||
        numerator == 0) {
        return 0;
    }
    return (uint64_t)crystal * numerator / denominator;
}

const char* rvec_machine_counter_name(void) { return "tsc (rdtscp)"; }
static const char* clock_source_name(void) { return "tsc"; }
static int can_count(void) { return has_rdtscp(); }

#else

static uint64_t stated_frequency(void) {
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
}

const char* rvec_machine_counter_name(void) { return "cntvct_el0"; }
static const char* clock_source_name(void) { return "arch_sys_counter"; }
static int can_count(void) { return 1; }

#endif

static void read_line(const char* path, char* line, int size) {
    line[0] = '\0';
    FILE* file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(line, size, file) == NULL) {
            line[0] = '\0';
        }
        fclose(file);
    }
}

enum rvec_invariance rvec_machine_invariance(void) {
    char current[128], available[256];
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", current,
              sizeof(current));
    read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource", available,
              sizeof(available));
    if (!can_count()) {
        return RVEC_INVARIANCE_NONE;
    }
#if defined(__aarch64__)
    /* The architecture guarantees a constant rate (Arm ARM, D11.1), whatever a container hides
       in /sys. */
    return has_word(current, clock_source_name()) ? RVEC_INVARIANCE_TRUSTED
                                                  : RVEC_INVARIANCE_CLAIMED;
#else
    return rvec_machine_judge_sources(claims_invariance(), current, available, clock_source_name());
#endif
}

struct rvec_source rvec_machine_counter(void) {
    struct rvec_source source = {NULL, read_counter,       reference_ns, suspended_ns,
                                 nap,  stated_frequency(), core_count()};
    return source;
}

struct rvec_source rvec_machine_fallback(void) {
    struct rvec_source source = {NULL, read_monotonic, monotonic_ns, suspended_ns, nap, 1000000000U,
                                 1};
    return source;
}
