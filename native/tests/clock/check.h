/* The least that a C test needs, so that the same tests run on every architecture and under every
 * sanitizer. A failed check names its line and values and ends the test. */
#ifndef AFERIR_TESTS_CHECK_H
#define AFERIR_TESTS_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHECK_SKIP = 77 };

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define CHECK_NEAR(value, expected, tolerance)                                               \
    do {                                                                                     \
        double check_value = (double)(value), check_expected = (double)(expected);           \
        double check_off = check_value - check_expected;                                     \
        if (!(check_off <= (double)(tolerance) && check_off >= -(double)(tolerance))) {      \
            fprintf(stderr, "%s:%d: %s is %.17g, not %.17g within %g\n", __FILE__, __LINE__, \
                    #value, check_value, check_expected, (double)(tolerance));               \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

#define RUN(test)                 \
    do {                          \
        test();                   \
        printf("ok %s\n", #test); \
        fflush(stdout);           \
    } while (0)

/* splitmix64: small, seedable, the same everywhere (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(uint64_t* state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t* state, uint64_t bound) {
    return random_next(state) % bound;
}

/* In [0, 1). */
static inline double random_unit(uint64_t* state) {
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

#endif
