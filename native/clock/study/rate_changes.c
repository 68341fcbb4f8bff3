/* Accuracy of clocks on a processor whose counter changes its rate, for which RVEC was made
 * (Dutra 2015, 6.1): before the invariant counter, each change of a core's frequency changed the
 * counter's. No such processor is at hand, so the counter is emulated: it is computed from this
 * machine's time, at a rate that changes again and again. Three clocks read it: one that keeps
 * its first rate, like a program that calibrates once; RVEC that must detect the changes; and
 * RVEC that is informed of each one, as by the kernel in that study. This machine's time is the
 * true time. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "spread.h"
#include "study.h"

static const double FIRST_HZ = 2e9;
/* Relative error below which a rate counts as known; the two rates differ by more. */
static const double KNOWN = 0.01;
enum { LOOKS = 16 };

enum { ONE_RATE, NOTICES, TOLD, CLOCKS };
static const char* const NAMES[CLOCKS] = {"one rate", "rvec that notices", "rvec that is told"};

/* The counter, and the start of its current rate. */
struct emulated {
    struct rvec* truth;
    double hz;
    uint64_t since_ns;
    uint64_t ticks_since;
};

/* A clock of RVEC on the counter. */
struct kept {
    struct rvec* rvec;
    struct rvec_clock clock;
    uint64_t last;
    uint64_t violations; /* readings that were not greater than the one before */
};

struct result {
    double* error_s[CLOCKS]; /* of each interval between two changes */
    double* unknown_s;       /* from a change until RVEC had noticed it */
    uint64_t reads;
    uint32_t noticed;
};

static uint64_t ticks_at(const struct emulated* counter, uint64_t now_ns) {
    return counter->ticks_since +
           (uint64_t)((double)(now_ns - counter->since_ns) * counter->hz * 1e-9);
}

static struct rvec_reading read_counter(void* context) {
    const struct emulated* counter = context;
    struct rvec_reading reading = {ticks_at(counter, rvec_process_now(counter->truth)), 0};
    return reading;
}

static uint64_t true_ns(void* context) {
    return rvec_process_now(((const struct emulated*)context)->truth);
}

static uint64_t never_asleep(void* context) {
    (void)context;
    return 0;
}

static void nap(void* context, uint64_t ns) {
    (void)context;
    struct timespec pause = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    nanosleep(&pause, NULL);
}

static void change_rate(struct emulated* counter, double hz) {
    uint64_t now = rvec_process_now(counter->truth);
    counter->ticks_since = ticks_at(counter, now);
    counter->since_ns = now;
    counter->hz = hz;
}

static uint64_t read_kept(struct kept* kept) {
    uint64_t reading = rvec_read(&kept->clock);
    kept->violations += reading <= kept->last;
    kept->last = reading;
    return reading;
}

static int knows(const struct kept* kept, double hz) {
    struct rvec_rate rate;
    rvec_get_rate(kept->rvec, &rate);
    return fabs(ldexp((double)rate.mult, -(int)rate.shift) * hz * 1e-9 - 1) < KNOWN;
}

/* One reading of all clocks: the narrowest of several, as the thread may lose its core in between.
 */
struct look {
    uint64_t true_ns;
    uint64_t ticks;
    uint64_t noticing_ns;
    uint64_t told_ns;
};

static struct look look_at(struct emulated* counter, struct kept* notices, struct kept* told) {
    struct look best = {0, 0, 0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < LOOKS; ++i) {
        struct look look;
        look.true_ns = rvec_process_now(counter->truth);
        look.ticks = ticks_at(counter, look.true_ns);
        look.noticing_ns = read_kept(notices);
        look.told_ns = read_kept(told);
        uint64_t width = rvec_process_now(counter->truth) - look.true_ns;
        if (width < narrowest) {
            narrowest = width;
            best = look;
        }
    }
    return best;
}

/* Reads in a loop until the interval is over, and compares its length by each clock with the
   true one. */
static void read_interval(struct emulated* counter, struct kept* notices, struct kept* told,
                          double interval_s, uint32_t number, struct result* result) {
    struct look first = look_at(counter, notices, told);
    double unknown_s = NAN, passed_s = 0;
    while (passed_s < interval_s) {
        read_kept(notices);
        read_kept(told);
        result->reads += 1;
        passed_s = (double)(rvec_process_now(counter->truth) - first.true_ns) * 1e-9;
        if (isnan(unknown_s) && knows(notices, counter->hz)) {
            unknown_s = passed_s;
        }
    }
    struct look last = look_at(counter, notices, told);
    double truth_s = (double)(last.true_ns - first.true_ns) * 1e-9;
    double by_one_rate_s = (double)(last.ticks - first.ticks) / FIRST_HZ;
    result->error_s[ONE_RATE][number] = by_one_rate_s - truth_s;
    result->error_s[NOTICES][number] =
        (double)(last.noticing_ns - first.noticing_ns) * 1e-9 - truth_s;
    result->error_s[TOLD][number] = (double)(last.told_ns - first.told_ns) * 1e-9 - truth_s;
    result->noticed += isnan(unknown_s) ? 0 : 1;
    result->unknown_s[number] = isnan(unknown_s) ? truth_s : unknown_s;
}

static void report_errors(struct output* output, const struct result* result, uint32_t runs) {
    static const char* const METRICS[CLOCKS] = {"one_rate_error_mean_s", "noticing_error_mean_s",
                                                "told_error_mean_s"};
    double* number = calloc(runs, sizeof(double));
    for (uint32_t i = 0; number != NULL && i < runs; ++i) {
        number[i] = i + 1;
    }
    for (int clock = 0; clock < CLOCKS; ++clock) {
        struct spread spread = {0};
        for (uint32_t i = 0; i < runs; ++i) {
            spread_add(&spread, fabs(result->error_s[clock][i]));
        }
        output_sample(output, METRICS[clock], spread.mean, "s");
        if (number != NULL) {
            output_curve(output, "interval_error_s", "s", NAMES[clock], "interval", "", number,
                         result->error_s[clock], runs);
        }
    }
    free(number);
}

static void report(struct output* output, const struct result* result, const struct kept* notices,
                   const struct kept* told, uint32_t runs) {
    struct spread unknown_s = {0};
    for (uint32_t i = 0; i < runs; ++i) {
        spread_add(&unknown_s, result->unknown_s[i]);
    }
    report_errors(output, result, runs);
    output_sample(output, "reads_of_each_clock", (double)result->reads, "1");
    output_sample(output, "violations_of_rvec", (double)(notices->violations + told->violations),
                  "1");
    output_sample(output, "rate_changes", runs, "1");
    output_sample(output, "rate_changes_noticed", result->noticed, "1");
    output_sample(output, "unnoticed_mean_s", unknown_s.mean, "s");
}

static int open_kept(struct kept* kept, struct emulated* counter) {
    struct rvec_source source = {counter, read_counter, true_ns, never_asleep, nap, 0, 1};
    struct rvec_options options = {0};
    options.source = &source;
    return rvec_open(&kept->rvec, &options) == RVEC_OK &&
           rvec_attach_process(kept->rvec, &kept->clock) == RVEC_OK;
}

static int change_and_read(struct study* study, struct emulated* counter, struct kept* notices,
                           struct kept* told) {
    const struct study_options* options = study->options;
    struct result result = {0};
    double* memory = calloc((size_t)options->runs * (CLOCKS + 1), sizeof(double));
    if (memory == NULL) {
        study->error = "there is not memory enough";
        return STUDY_IMPOSSIBLE;
    }
    for (int i = 0; i < CLOCKS; ++i) {
        result.error_s[i] = memory + (size_t)i * options->runs;
    }
    result.unknown_s = memory + (size_t)CLOCKS * options->runs;
    for (uint32_t i = 0; i < options->runs; ++i) {
        change_rate(counter, i % 2 == 0 ? FIRST_HZ * options->ratio : FIRST_HZ);
        rvec_rate_changed(told->rvec, counter->hz);
        read_interval(counter, notices, told, options->interval_s, i, &result);
    }
    report(study->output, &result, notices, told, options->runs);
    free(memory);
    return STUDY_OK;
}

int study_rate(struct study* study) {
    struct emulated counter = {study->rvec, FIRST_HZ, rvec_process_now(study->rvec), 0};
    struct kept notices = {0}, told = {0};
    int status = STUDY_IMPOSSIBLE;
    study->error = "no clock can be opened on the emulated counter";
    if (open_kept(&notices, &counter) && open_kept(&told, &counter)) {
        status = change_and_read(study, &counter, &notices, &told);
    }
    rvec_close(told.rvec);
    rvec_close(notices.rvec);
    return status;
}
