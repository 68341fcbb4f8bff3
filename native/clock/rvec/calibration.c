#include "calibration.h"

#include <assert.h>
#include <math.h>

enum { LOOKS = 9, TRIES = 16, ATTEMPTS = 3, SLEEP_NS = 1000000 };

struct witness rvec_calibration_look(const struct rvec_source* source, const int64_t* offsets,
                                     int tries) {
    struct witness best = {0, UINT64_MAX, 0, 0};
    for (int i = 0; i < tries; ++i) {
        struct rvec_reading before = source->read(source->context);
        uint64_t reference = source->reference_ns(source->context);
        struct rvec_reading after = source->read(source->context);
        /* A migration inside the bracket would mix two cores' counters. */
        if (before.core != after.core && i + 1 < tries) {
            continue;
        }
        uint64_t width = after.counter - before.counter;
        if (width < best.width || best.width == UINT64_MAX) {
            uint32_t core = before.core & 0xfff;
            int64_t offset = offsets != NULL && core < source->cores ? offsets[core] : 0;
            best.width = width;
            best.counter = before.counter + width / 2 - (uint64_t)offset;
            best.reference_ns = reference;
        }
    }
    best.suspended_ns = source->suspended_ns(source->context);
    return best;
}

/* The wider a bracket, the less certain is the time at which the reference was read. */
static double weight(const struct witness* look) {
    double width = (double)look->width + 1;
    return 1 / (width * width);
}

double rvec_calibration_slope(const struct witness* looks, int count) {
    assert(count >= 2);
    double total = 0, mean_x = 0, mean_y = 0;
    for (int i = 0; i < count; ++i) {
        total += weight(&looks[i]);
    }
    for (int i = 0; i < count; ++i) {
        double part = weight(&looks[i]) / total;
        mean_x += part * (double)(looks[i].counter - looks[0].counter);
        mean_y += part * (double)(looks[i].reference_ns - looks[0].reference_ns);
    }
    double sum_xx = 0, sum_xy = 0;
    for (int i = 0; i < count; ++i) {
        double part = weight(&looks[i]) / total;
        double x = (double)(looks[i].counter - looks[0].counter) - mean_x;
        double y = (double)(looks[i].reference_ns - looks[0].reference_ns) - mean_y;
        sum_xx += part * x * x;
        sum_xy += part * x * y;
    }
    return sum_xx > 0 ? sum_xy / sum_xx : NAN;
}

int rvec_calibration_between(const struct witness* first, const struct witness* last,
                             struct calibration* out) {
    double ticks = (double)(last->counter - first->counter);
    double ns = (double)(last->reference_ns - first->reference_ns);
    if ((int64_t)(last->counter - first->counter) <= 0 || ns <= 0) {
        return RVEC_ERROR_CALIBRATION;
    }
    out->first = *first;
    out->last = *last;
    out->ns_per_tick = ns / ticks;
    /* The reference was read somewhere inside each bracket and is cut to whole nanoseconds. */
    double brackets = (double)(first->width + last->width) / 2 * out->ns_per_tick;
    out->uncertainty_ppb = (brackets + 2) / ns * 1e9;
    return RVEC_OK;
}

static int attempt(const struct rvec_source* source, uint64_t duration_ns,
                   struct calibration* out) {
    struct witness looks[LOOKS];
    for (int i = 0; i < LOOKS; ++i) {
        if (i > 0) {
            source->nap(source->context, duration_ns / (LOOKS - 1));
        }
        looks[i] = rvec_calibration_look(source, NULL, TRIES);
    }
    int status = rvec_calibration_between(&looks[0], &looks[LOOKS - 1], out);
    int64_t asleep = (int64_t)(looks[LOOKS - 1].suspended_ns - looks[0].suspended_ns);
    if (status != RVEC_OK || asleep > SLEEP_NS) {
        return RVEC_ERROR_CALIBRATION;
    }
    /* If looks deviate from the line between the ends by more than their brackets, the counter
     * has jumped or changed its rate meanwhile. */
    for (int i = 1; i < LOOKS; ++i) {
        double ns = (double)(looks[i].reference_ns - looks[0].reference_ns);
        double ticks = (double)(looks[i].counter - looks[0].counter);
        double off = fabs(ns - out->ns_per_tick * ticks);
        double brackets = (double)(looks[0].width + looks[i].width) * out->ns_per_tick;
        if (!(off <= brackets + 1000 + ns * out->uncertainty_ppb * 1e-9)) {
            return RVEC_ERROR_CALIBRATION;
        }
    }
    /* The fit averages the brackets' noise, but must stay within the range that the end points
       prove. */
    double slope = rvec_calibration_slope(looks, LOOKS);
    if (fabs(slope / out->ns_per_tick - 1) * 1e9 < out->uncertainty_ppb) {
        out->ns_per_tick = slope;
    }
    return RVEC_OK;
}

int rvec_calibration_run(const struct rvec_source* source, uint64_t duration_ns,
                         struct calibration* out) {
    int status = RVEC_ERROR_CALIBRATION;
    for (int i = 0; i < ATTEMPTS && status != RVEC_OK; ++i) {
        status = attempt(source, duration_ns, out);
    }
    return status;
}
