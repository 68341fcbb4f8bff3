/* The operating system's noise by fixed work quanta (FWQ, the ASC Sequoia benchmark of LLNL):
 * the same work is repeated on one core; the time beyond the shortest was used by other
 * programs. Work at a steady rate can be planted on the same core, as a test of the study. */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "beat.h"
#include "bench.h"
#include "study.h"

enum { CALIBRATIONS = 1000, WINDOW = 15, MOST_SHOWN = 400 };
/* Relative excess over its neighbours at which a quantum counts as interrupted. Many small
 * interruptions hide a few large ones, so a beat is searched for among the larger ones, too. */
static const double INTERRUPTED[] = {0.02, 0.1, 0.3};
enum { SIZES = sizeof(INTERRUPTED) / sizeof(*INTERRUPTED) };
static const double SHARES[] = {0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
enum { SHARES_SHOWN = sizeof(SHARES) / sizeof(*SHARES) };

/* Dependent additions in registers: neither memory nor the compiler can change their number. One
 * piece of code for calibration and quanta: as small a loop takes twice the time where it is badly
 * aligned. */
__attribute__((noinline)) static uint64_t work(uint64_t additions) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < additions; ++i) {
        __asm__ volatile("" : "+r"(sum));
        sum += 3;
    }
    return sum;
}

static double seconds_per_tick(const struct study* study) {
    struct rvec_facts facts;
    rvec_info(study->rvec, &facts);
    return 1 / facts.frequency_hz;
}

/* Number of additions in a quantum, at the best speed seen. */
static uint64_t calibrate(double quantum_s, double tick_s) {
    const uint64_t trial = 100000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < CALIBRATIONS; ++i) {
        uint64_t start = rvec_ticks(), sum = work(trial), ticks = rvec_ticks() - start;
        best = sum == 3 * trial && ticks < best ? ticks : best;
    }
    return (uint64_t)(quantum_s / ((double)best * tick_s) * (double)trial) + 1;
}

/* Sets the priority (sched(7)); `realtime` 0 means that of any program. Returns 0 if it is refused.
 * */
static int set_priority(pid_t process, int realtime) {
    const struct sched_param priority = {.sched_priority = realtime};
    return sched_setscheduler(process, realtime > 0 ? SCHED_FIFO : SCHED_OTHER, &priority) == 0;
}

/* Works for `busy_s` in each `period_s`, at fixed times, until it is ended. */
static void disturb(double period_s, double busy_s, pid_t parent) {
    struct timespec start, until;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t beat = 1;; ++beat) {
        double due = (double)start.tv_nsec * 1e-9 + (double)beat * period_s;
        until.tv_sec = start.tv_sec + (time_t)due;
        until.tv_nsec = (long)(fmod(due, 1) * 1e9);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        for (uint64_t since = bench_raw_ns(); (double)(bench_raw_ns() - since) < busy_s * 1e9;) {
        }
    }
}

static pid_t plant(const struct study_options* options) {
    pid_t parent = getpid();
    if (options->noise_period_s <= 0) {
        return 0;
    }
    pid_t child = fork(); /* which keeps our core */
    if (child == 0) {
        disturb(options->noise_period_s, options->noise_busy_s, parent);
    }
    if (child > 0) {
        set_priority(child, 2); /* as kernel threads have; by us, as it may not get to run before */
    }
    return child;
}

static void unplant(pid_t child) {
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

struct quanta {
    uint32_t count;
    double* start_s;
    double* took_s;
    double* scratch;
};

static int run_quanta(struct quanta* quanta, uint64_t additions, double tick_s) {
    uint64_t begin = rvec_ticks(), right = 1;
    for (uint32_t i = 0; i < quanta->count; ++i) {
        uint64_t start = rvec_ticks();
        right &= work(additions) == 3 * additions;
        uint64_t end = rvec_ticks();
        quanta->start_s[i] = (double)(start - begin) * tick_s;
        quanta->took_s[i] = (double)(end - start) * tick_s;
    }
    return right != 0;
}

/* Median of the neighbouring quanta: it follows changes of the core's speed, which are no
 * interruptions. */
static double usual_around(const struct quanta* quanta, uint32_t i) {
    double window[WINDOW];
    uint32_t half = WINDOW / 2, last = quanta->count - 1;
    uint32_t first = 0;
    if (i >= half) {
        first = i + half > last ? last - 2 * half : i - half;
    }
    memcpy(window, quanta->took_s + first, sizeof(window));
    return bench_quantile(window, WINDOW, 0.5);
}

/* Times of quanta that took longer than their neighbours by more than `least_s`. */
static uint32_t interruptions(const struct quanta* quanta, double least_s, double* at_s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < quanta->count; ++i) {
        if (quanta->took_s[i] - usual_around(quanta, i) > least_s) {
            at_s[count++] = quanta->start_s[i] + quanta->took_s[i] / 2;
        }
    }
    return count;
}

static void report_interruptions(struct study* study, const struct quanta* quanta, double quantum) {
    double* at = quanta->scratch;
    uint32_t last = quanta->count - 1;
    double length = quanta->start_s[last] + quanta->took_s[last];
    struct beat best = {0, 0, 0};
    for (int size = 0; size < SIZES; ++size) {
        uint32_t count = interruptions(quanta, INTERRUPTED[size] * quantum, at);
        struct beat beat = beat_find(at, count, length, quantum);
        best = beat.strength > best.strength ? beat : best;
        if (size == 0) {
            output_sample(study->output, "interruptions_hz", count / length, "Hz");
        }
    }
    output_sample(study->output, "beat_hz", best.rate_hz, "Hz");
    output_sample(study->output, "beat_share", best.share, "1");
}

/* The longest quantum in each interval, so that the picture omits none. */
static void report_times(const struct study* study, const struct quanta* quanta, double least) {
    double at[MOST_SHOWN], excess[MOST_SHOWN] = {0};
    double stretch = study->options->quantum_s * fmax(quanta->count / (MOST_SHOWN / 2.0), 1);
    size_t shown = 0;
    for (uint32_t i = 0; i < quanta->count; ++i) {
        size_t place = (size_t)(quanta->start_s[i] / stretch);
        if (place < MOST_SHOWN) { /* beyond: more than twice the time that the work takes */
            excess[place] = fmax(excess[place], quanta->took_s[i] - least);
            shown = place + 1;
        }
    }
    for (size_t i = 0; i < shown; ++i) {
        at[i] = (double)i * stretch;
    }
    output_curve(study->output, "excess_s", "s", "worst of each stretch", "time_s", "s", at, excess,
                 shown);
}

static void report(struct study* study, struct quanta* quanta) {
    double exceeded[SHARES_SHOWN], total = 0, tick = seconds_per_tick(study);
    double* sorted = quanta->scratch;
    memcpy(sorted, quanta->took_s, sizeof(double) * quanta->count);
    double least = bench_quantile(sorted, quanta->count, 0);
    for (int i = 0; i < SHARES_SHOWN; ++i) { /* what is below a tick counts as one */
        double place = (double)(quanta->count - 1) * (1 - SHARES[i]);
        exceeded[i] = fmax(sorted[(uint32_t)place] - least, tick);
    }
    for (uint32_t i = 0; i < quanta->count; ++i) {
        total += quanta->took_s[i];
    }
    output_sample(study->output, "quantum_least_s", least, "s");
    output_sample(study->output, "noise_share", 1 - least * quanta->count / total, "1");
    report_interruptions(study, quanta, least);
    output_curve(study->output, "exceeded_s", "s", "", "share_of_quanta", "", SHARES, exceeded,
                 SHARES_SHOWN);
    report_times(study, quanta, least);
}

static int measure(struct study* study, struct quanta* quanta) {
    const struct study_options* options = study->options;
    study->error = "a real-time priority is not permitted here";
    if (options->realtime && !set_priority(0, 1)) {
        return STUDY_IMPOSSIBLE;
    }
    uint64_t additions = calibrate(options->quantum_s, seconds_per_tick(study));
    pid_t child = plant(options);
    int right = run_quanta(quanta, additions, seconds_per_tick(study));
    unplant(child);
    set_priority(0, 0);
    study->error = child < 0 ? "no process could be started" : "the sum of a quantum is wrong";
    if (child < 0) {
        return STUDY_IMPOSSIBLE;
    }
    return right ? STUDY_OK : STUDY_UNVERIFIED;
}

int study_noise(struct study* study) {
    uint32_t count = study->options->quanta;
    double* memory = calloc((size_t)count * 3, sizeof(double));
    if (memory == NULL) {
        study->error = "there is not memory enough";
        return STUDY_IMPOSSIBLE;
    }
    struct quanta quanta = {count, memory, memory + count, memory + 2 * (size_t)count};
    cores_move_to(&study->cores, 0);
    int status = measure(study, &quanta);
    if (status == STUDY_OK) {
        report(study, &quanta);
    }
    free(memory);
    return status;
}
