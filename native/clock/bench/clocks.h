/* Ways to read a clock, each as one expression that can be inlined into a loop. */
#ifndef AFERIR_CLOCK_CLOCKS_H
#define AFERIR_CLOCK_CLOCKS_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "aferir/rvec.h"

static inline uint64_t clocks_system_ns(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static inline uint64_t clocks_gettimeofday_ns(void) {
    struct timeval time;
    gettimeofday(&time, NULL);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_usec * 1000U;
}

static inline uint64_t clocks_first_core_ns(struct rvec* rvec) {
    uint64_t ns = 0;
    rvec_core_read(rvec, 0, &ns);
    return ns;
}

#if defined(__x86_64__)
static inline uint64_t clocks_rdtsc(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static inline uint64_t clocks_lfence_rdtsc(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline uint64_t clocks_rdtscp(void) {
    uint32_t low, high, core;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(core)::"memory");
    return (uint64_t)high << 32 | low;
}
#endif

#endif
