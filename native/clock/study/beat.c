#include "beat.h"

#include <math.h>
#include <stdint.h>

static const double TWO_PI = 6.283185307179586;
enum { FEWEST = 10, MOST_EVENTS = 2000, STEPS_PER_WIDTH = 4 };

static double strength_at(const double* at_s, size_t count, double rate_hz, double* phase) {
    double along = 0, across = 0;
    for (size_t i = 0; i < count; ++i) {
        double angle = TWO_PI * fmod(at_s[i] * rate_hz, 1);
        along += cos(angle);
        across += sin(angle);
    }
    *phase = atan2(across, along) / TWO_PI;
    return hypot(along, across) / (double)count;
}

/* Number of beats with an event at most a quarter of a period away. */
static double beats_seen(const double* at_s, size_t count, double rate_hz, double phase) {
    double last = -INFINITY, seen = 0;
    for (size_t i = 0; i < count; ++i) {
        double beats = at_s[i] * rate_hz - phase, beat = round(beats);
        if (fabs(beats - beat) <= 0.25 && beat > last) {
            last = beat;
            seen += 1;
        }
    }
    return seen;
}

struct beat beat_find(const double* at_s, size_t count, double length_s, double resolution_s) {
    struct beat none = {0, 0, 0}, best = {0, 0, 0};
    if (count < FEWEST) {
        return none;
    }
    if (count > MOST_EVENTS) { /* the first ones: enough, and quadratic otherwise */
        count = MOST_EVENTS;
        length_s = at_s[count - 1] - at_s[0];
    }
    double step = 1 / (length_s * STEPS_PER_WIDTH), lowest = 10 / length_s;
    double highest = 1 / (4 * resolution_s);
    double tried = fmax((highest - lowest) / step + 1, 1);
    for (uint64_t i = 0; lowest + (double)i * step <= highest; ++i) {
        double rate = lowest + (double)i * step;
        double phase, strength = strength_at(at_s, count, rate, &phase);
        /* A lower rate is not replaced by its neighbours in the same peak, nor by a higher rate (it
         * may be a multiple) whose peak is no clearer. */
        double needed = best.rate_hz > 0 && rate > best.rate_hz + 4 * step
                            ? fmin(best.strength + 0.2, 0.99)
                            : best.strength;
        if (strength < 0.5 || strength <= needed) {
            continue;
        }
        /* P(R > r) = exp(-n r^2) for n phases at random. Events of one beat are one: they may come
         * in bursts. */
        double seen = beats_seen(at_s, count, rate, phase), share = seen / (length_s * rate);
        if (share >= 0.5 && seen * strength * strength >= log(1e6 * tried)) {
            best = (struct beat){rate, strength, fmin(share, 1)};
        }
    }
    return best;
}
