#include "judge.h"

#include <math.h>
#include <stdlib.h>

/* Brackets can be widened by an interrupt, and the reference may be kept by another oscillator
 * (HPET, kvm-clock), which is within 50 ppm of the counter's. */
enum { SLACK_NS = 10000, OSCILLATORS_PPB = 50000 };

/* Sleeps shorter than this are taken for noise, since two clocks are read one after the other. */
enum { SLEEP_NS = 1000000 };

/* The kernel knows the length of a sleep from a real-time clock that often counts seconds. */
static const uint64_t SLEEP_DOUBT_NS = 1000000000;

/* Largest ratio of two machines' counter rates. */
static const double LARGEST_CHANGE = 16;

/* Two looks at one new rate agree within this. */
static const double SAME_RATE = 1e-3;

static uint64_t distance(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static uint64_t share(int64_t ns, double ppb) { return (uint64_t)((double)llabs(ns) * ppb * 1e-9); }

/* Decides whether this rate has been seen twice. */
static void consider_rate(struct judgement* result, struct rvec_rate rate,
                          struct suspicion suspicion) {
    double ratio = result->ns_per_tick / rvec_rate_ns_per_tick(rate);
    if (suspicion.ns_per_tick <= 0 || !(ratio < LARGEST_CHANGE && ratio > 1 / LARGEST_CHANGE) ||
        fabs(result->ns_per_tick / suspicion.ns_per_tick - 1) > SAME_RATE) {
        return;
    }
    result->verdict = RVEC_RATE_CHANGED;
    result->rate = rvec_rate_make(result->ns_per_tick);
}

struct judgement rvec_judge(const struct witness* before, const struct witness* now,
                            struct rvec_rate rate, double uncertainty_ppb,
                            struct suspicion suspicion) {
    int64_t ticks = (int64_t)(now->counter - before->counter);
    int64_t counted = rate_ns(rate, ticks);
    int64_t awake = (int64_t)(now->reference_ns - before->reference_ns);
    int64_t asleep = (int64_t)(now->suspended_ns - before->suspended_ns);
    asleep = asleep < SLEEP_NS ? 0 : asleep;
    uint64_t widths = rvec_ticks_to_ns(rate, before->width + now->width);
    uint64_t tolerance = SLACK_NS + widths + share(awake, uncertainty_ppb + OSCILLATORS_PPB);

    struct judgement result = {RVEC_STEADY, (uint64_t)counted, 0, rate, 0};
    int64_t passed = awake + asleep;
    if (distance(counted, passed) <= tolerance) {
        return result;
    }
    /* Readers have followed the counter up to the jump, so that their readings may exceed the
     * reference by the uncertainty of the rate. */
    result.elapsed_ns = (uint64_t)passed + widths + share(awake, uncertainty_ppb);
    result.doubt_ns = tolerance;
    result.verdict = RVEC_JUMPED;
    if (asleep > 0) {
        uint64_t slept = (uint64_t)asleep;
        result.doubt_ns += slept < SLEEP_DOUBT_NS ? slept : SLEEP_DOUBT_NS;
        if (distance(counted, awake) <= tolerance) {
            result.verdict = RVEC_SUSPENDED;
        }
        return result;
    }
    if (ticks > 0 && awake > 0) {
        result.ns_per_tick = (double)awake / (double)ticks;
        consider_rate(&result, rate, suspicion);
    }
    if (counted > passed && distance(counted, passed) <= suspicion.given_out_ns) {
        result.elapsed_ns = (uint64_t)counted;
        result.doubt_ns += distance(counted, passed);
    }
    return result;
}
