/* Long-term stability against every reference found, after Dutra 2015, 7.2.1: loops of 10 K, 100 K
 * and 1 M additions timed by both clocks, whose difference must not grow with the loop; then the
 * difference of the clocks over time, and its Allan deviation. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "allan.h"
#include "bench.h"
#include "reference.h"
#include "spread.h"
#include "study.h"

enum { LENGTHS = 3, MOST_LOOPS = 200, MOST_OCTAVES = 32, MOST_SHOWN = 400 };
static const uint32_t ADDITIONS[LENGTHS] = {10000, 100000, 1000000};
static const uint32_t LOOPS[LENGTHS] = {MOST_LOOPS, 100, 30};

static int add_up(uint32_t additions) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < additions; ++i) {
        __asm__ volatile("" : "+r"(sum));
        sum += 3;
    }
    return sum == 3ULL * additions;
}

struct timed {
    struct spread ours, theirs, difference;
    double differences[MOST_LOOPS];
};

/* Reads both clocks around the same loop, ours inside. */
static int time_loops(const struct reference* reference, struct rvec_clock* clock, int length,
                      struct timed* timed) {
    int right = 1;
    for (uint32_t i = 0; i < LOOPS[length]; ++i) {
        uint64_t there = reference_now(reference), start = rvec_read(clock);
        right &= add_up(ADDITIONS[length]);
        uint64_t end = rvec_read(clock), back = reference_now(reference);
        double ours = (double)(end - start) * 1e-9, theirs = (double)(int64_t)(back - there) * 1e-9;
        spread_add(&timed->ours, ours);
        spread_add(&timed->theirs, theirs);
        spread_add(&timed->difference, theirs - ours);
        timed->differences[i] = theirs - ours;
    }
    return right;
}

static int study_loops(struct study* study, const struct reference* reference,
                       struct rvec_clock* clock) {
    double at[LENGTHS], ours[LENGTHS], theirs[LENGTHS], difference[LENGTHS], sd[LENGTHS];
    for (int length = 0; length < LENGTHS; ++length) {
        struct timed timed = {0};
        if (!time_loops(reference, clock, length, &timed)) {
            study->error = "the sum of a loop is wrong";
            return STUDY_UNVERIFIED;
        }
        at[length] = ADDITIONS[length];
        ours[length] = timed.ours.mean;
        theirs[length] = timed.theirs.mean;
        /* The median, since an interruption between two readings affects only one clock. */
        difference[length] = bench_quantile(timed.differences, LOOPS[length], 0.5);
        sd[length] = spread_sd(&timed.difference);
    }
    struct output* output = study->output;
    char label[128];
    snprintf(label, sizeof(label), "rvec within %.95s", reference->name);
    output_curve(output, "loop_s", "s", label, "additions", "", at, ours, LENGTHS);
    output_curve(output, "loop_s", "s", reference->name, "additions", "", at, theirs, LENGTHS);
    output_curve(output, "loop_difference_s", "s", reference->name, "additions", "", at, difference,
                 LENGTHS);
    output_curve(output, "loop_difference_sd_s", "s", reference->name, "additions", "", at, sd,
                 LENGTHS);
    return STUDY_OK;
}

/* Differences from the first one, in seconds. */
struct track {
    double* at_s;
    double* difference_s;
    size_t count;
    struct moment first;
    struct moment last;
};

static void note_moment(struct track* track, const struct moment* moment) {
    if (track->count == 0) {
        track->first = *moment;
    } else if (moment->local_ns <= track->last.local_ns) {
        return; /* the pulse that we have seen already */
    }
    track->last = *moment;
    int64_t theirs = (int64_t)(moment->reference_ns - track->first.reference_ns);
    int64_t ours = (int64_t)(moment->local_ns - track->first.local_ns);
    track->at_s[track->count] = (double)ours * 1e-9;
    track->difference_s[track->count++] = (double)(theirs - ours) * 1e-9;
}

static void follow(const struct study* study, const struct reference* references,
                   struct track* tracks, int count, size_t steps, struct rvec_clock* clock) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (size_t step = 0; step < steps; ++step) {
        double due = (double)start.tv_nsec + (double)step * study->options->interval_s * 1e9;
        struct timespec until = {start.tv_sec + (time_t)(due / 1e9), (long)fmod(due, 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        for (int i = 0; i < count; ++i) {
            struct moment moment;
            if (reference_look(&references[i], clock, &moment)) {
                note_moment(&tracks[i], &moment);
            }
        }
    }
}

/* Prints the Allan deviation by octaves, up to a third of the time. */
static void report_allan(struct output* output, const char* name, const double* regular,
                         size_t count, double step_s) {
    double tau[MOST_OCTAVES], deviation[MOST_OCTAVES];
    size_t octaves = 0;
    for (size_t m = 1; 3 * m < count && octaves < MOST_OCTAVES; m *= 2) {
        tau[octaves] = (double)m * step_s;
        deviation[octaves++] = allan_deviation(regular, count, step_s, m);
    }
    if (octaves > 0) {
        output_curve(output, "allan_deviation", "1", name, "tau_s", "s", tau, deviation, octaves);
    }
}

/* `regular` has room for `steps` values. */
static void report_track(const struct study* study, const char* name, double step_s,
                         const struct track* track, double* regular) {
    if (track->count < 4) {
        return;
    }
    size_t count = (size_t)(track->at_s[track->count - 1] / step_s) + 1;
    count = count > track->count ? track->count : count;
    allan_regular(track->at_s, track->difference_s, track->count, step_s, regular, count);
    report_allan(study->output, name, regular, count, step_s);
    double at[MOST_SHOWN], shown[MOST_SHOWN];
    size_t each = count / MOST_SHOWN + 1, points = 0;
    for (size_t i = 0; i < count; i += each) {
        at[points] = (double)i * step_s;
        shown[points++] = regular[i];
    }
    output_curve(study->output, "difference_s", "s", name, "time_s", "s", at, shown, points);
}

static int study_tracks(struct study* study, const struct reference* references, int count,
                        struct rvec_clock* clock) {
    double step_s = study->options->interval_s;
    size_t steps = (size_t)(study->options->seconds / step_s) + 1;
    double* memory = calloc(steps * (2 * (size_t)count + 1), sizeof(double));
    if (memory == NULL) {
        study->error = "there is not memory enough: compare less often";
        return STUDY_IMPOSSIBLE;
    }
    struct track tracks[MOST_REFERENCES] = {0};
    for (int i = 0; i < count; ++i) {
        tracks[i].at_s = memory + 2 * (size_t)i * steps;
        tracks[i].difference_s = tracks[i].at_s + steps;
    }
    follow(study, references, tracks, count, steps, clock);
    double* regular = memory + 2 * (size_t)count * steps;
    for (int i = 0; i < count; ++i) {
        int pulses = references[i].pulses[0] != '\0';
        report_track(study, references[i].name, pulses ? 1 : step_s, &tracks[i], regular);
    }
    if (tracks[0].count > 1) { /* the best reference there is */
        double slope = allan_slope(tracks[0].at_s, tracks[0].difference_s, tracks[0].count);
        output_sample(study->output, "rate_difference_ppb", slope * 1e9, "ppb");
    }
    free(memory);
    return STUDY_OK;
}

static void report_references(struct study* study, const struct reference* references, int count) {
    const char* names[MOST_REFERENCES];
    double stated[MOST_REFERENCES];
    size_t stating = 0;
    int external = 0;
    for (int i = 0; i < count; ++i) {
        external += references[i].external;
        if (!isnan(references[i].accuracy_s)) {
            names[stating] = references[i].name;
            stated[stating++] = references[i].accuracy_s;
        }
    }
    output_sample(study->output, "external_references", external, "1");
    if (stating > 0) {
        output_named(study->output, "stated_accuracy_s", "s", "", "reference", names, stated,
                     stating);
    }
    if (external == 0) {
        output_doubt(
            study->output, "no-external-reference",
            "no external reference was found: only clocks on one oscillator were compared, "
            "which says that they are consistent, not that they are right",
            "attach a PTP hardware clock or a PPS signal, or let chronyd synchronise the "
            "system's time");
    }
}

int study_stability(struct study* study) {
    struct reference references[MOST_REFERENCES];
    struct rvec_clock clock;
    if (rvec_attach_thread(study->rvec, &clock) != RVEC_OK) {
        study->error = "the counter cannot be read";
        return STUDY_IMPOSSIBLE;
    }
    cores_move_to(&study->cores, 0);
    int count = references_find(references), status = STUDY_OK;
    report_references(study, references, count);
    for (int i = 0; i < count && status == STUDY_OK; ++i) {
        if (references[i].pulses[0] == '\0') {
            status = study_loops(study, &references[i], &clock);
        }
    }
    if (status == STUDY_OK) {
        status = study_tracks(study, references, count, &clock);
    }
    references_close(references, count);
    return status;
}
