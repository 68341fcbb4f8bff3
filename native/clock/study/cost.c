/* Cost of reading each clock: of readings in a row, and, as in Dutra 2015, 7.2.2, the time that one
 * reading in the middle adds to a loop of 5,000 additions. The study's duration, by which
 * environments are compared, is that of reading each clock once. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "arms.h"
#include "bench.h"
#include "spread.h"
#include "study.h"

enum { READS = 500, ADDITIONS = 5000, LOOPS = 20 };

/* Keeps the compiler from removing the reads and additions. */
static volatile uint64_t sink;

#define TIMED(id, name, ticks, expression)           \
    static double reads_##id(struct arm* arm) {      \
        uint64_t sum = 0, start = bench_raw_ns();    \
        for (int i = 0; i < READS; ++i) {            \
            sum += (expression);                     \
        }                                            \
        uint64_t end = bench_raw_ns();               \
        sink = sum;                                  \
        (void)arm;                                   \
        return (double)(end - start) / READS * 1e-9; \
    }

STUDY_CLOCKS(TIMED)

/* Dependent additions, which no processor can overlap. The same code for all arms, since a badly
 * aligned copy of so small a loop takes twice the time. */
__attribute__((noinline)) static uint64_t add_up(uint64_t sum, int additions) {
    for (int i = 0; i < additions; ++i) {
        __asm__ volatile("" : "+r"(sum));
        sum += 3;
    }
    return sum;
}

#define WITHIN(id, name, ticks, expression)                                                 \
    static double within_##id(struct arm* arm) {                                            \
        uint64_t sum = 0, seen = 0, start = bench_raw_ns();                                 \
        for (int i = 0; i < LOOPS; ++i) {                                                   \
            sum = add_up(sum, ADDITIONS / 2);                                               \
            seen += (expression);                                                           \
            sum = add_up(sum, ADDITIONS / 2);                                               \
        }                                                                                   \
        uint64_t end = bench_raw_ns();                                                      \
        sink = sum + seen;                                                                  \
        (void)arm;                                                                          \
        return sum == 3ull * ADDITIONS * LOOPS ? (double)(end - start) / LOOPS * 1e-9 : -1; \
    }

STUDY_CLOCKS(WITHIN)
WITHIN(nothing, "no clock", 0, 0)

struct ways {
    double (*reads)(struct arm* arm);
    double (*within)(struct arm* arm);
};

#define WAYS(id, name, ticks, expression) {reads_##id, within_##id},
static const struct ways WAYS_OF[ARMS] = {STUDY_CLOCKS(WAYS)};

struct found {
    double* reads[ARMS];
    double* within[ARMS]; /* each less the loop without a clock that went just before */
    double* bare;
    uint32_t rounds;
};

/* The clocks take turns within each round, so that a disturbance affects all. */
static int measure(struct arm* arm, const int* places, int count, struct found* found) {
    for (uint32_t round = 0; round < found->rounds; ++round) {
        for (int i = 0; i < count; ++i) {
            found->reads[i][round] = WAYS_OF[places[i]].reads(arm);
            double without = within_nothing(arm), with = WAYS_OF[places[i]].within(arm);
            if (without < 0 || with < 0) {
                return 0;
            }
            found->bare[round] = without;
            found->within[i][round] = with - without;
        }
    }
    return 1;
}

static void report(struct study* study, const int* places, int count, struct found* found) {
    const char* names[ARMS];
    double least[ARMS], added[ARMS], all = 0, loop;
    loop = bench_quantile(found->bare, found->rounds, 0.5);
    for (int i = 0; i < count; ++i) {
        names[i] = ARM_NAMES[places[i]];
        least[i] = bench_quantile(found->reads[i], found->rounds, 0);
        added[i] = bench_quantile(found->within[i], found->rounds, 0.5);
        all += least[i];
        if (places[i] == ARM_rvec_thread) {
            output_sample(study->output, "read_of_rvec_s", least[i], "s");
        }
        if (places[i] == ARM_monotonic) {
            output_sample(study->output, "read_of_monotonic_s", least[i], "s");
        }
    }
    size_t n = (size_t)count;
    study->duration_s = all;
    output_sample(study->output, "loop_s", loop, "s");
    output_named(study->output, "read_s", "s", "", "clock", names, least, n);
    output_named(study->output, "added_to_loop_s", "s", "", "clock", names, added, n);
}

int study_cost(struct study* study) {
    int places[ARMS], count = arms_here(places);
    uint32_t rounds = study->options->runs;
    struct found found = {.rounds = rounds};
    struct arm arm;
    double* memory = calloc((size_t)rounds * (2 * ARMS + 1), sizeof(double));
    if (memory == NULL || !arm_open(&arm, study->rvec)) {
        free(memory);
        study->error = "there is not memory enough";
        return STUDY_IMPOSSIBLE;
    }
    for (int i = 0; i < ARMS; ++i) {
        found.reads[i] = memory + (size_t)rounds * (size_t)i;
        found.within[i] = memory + (size_t)rounds * (size_t)(ARMS + i);
    }
    found.bare = memory + (size_t)rounds * 2 * ARMS;
    cores_move_to(&study->cores, 0);
    int right = measure(&arm, places, count, &found);
    if (right) {
        report(study, places, count, &found);
    } else {
        study->error = "the sum of the loop is wrong";
    }
    free(memory);
    return right ? STUDY_OK : STUDY_UNVERIFIED;
}
