#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "bench.h"

uint64_t bench_raw_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static int by_size(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double bench_quantile(double* values, uint32_t count, double part) {
    qsort(values, count, sizeof(*values), by_size);
    return values[(uint32_t)((double)(count - 1) * part)];
}
