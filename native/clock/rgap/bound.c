#include "bound.h"

#include <math.h>
#include <string.h>

/* While an old reading is being corrected, time runs faster or slower by one part in this
 * number. It still increases strictly, as readings are more than two nanoseconds apart. */
enum { SLEW_DIVISOR = 16 };

/* Consecutive looks over one path have similar errors, a small part of the round trip. A smaller
 * difference is not taken for a rate, so that two equal clocks remain equal. */
static const double SAME_WITHIN = 0.125;

static uint64_t half_width(const struct estimate* e) {
    int64_t above = e->highest_ns - e->offset_ns, below = e->offset_ns - e->lowest_ns;
    return (uint64_t)(above > below ? above : below);
}

struct model rgap_model_first(const struct look* look, const struct oscillators* limits) {
    struct model model;
    memset(&model, 0, sizeof(model));
    model.local_ref_ns = look->estimate.local_ns;
    model.offset_ns = look->estimate.offset_ns;
    model.half_ns = half_width(&look->estimate) + look->server_bound_ns;
    model.rate_doubt_ppb = limits->rate_limit_ppb;
    model.growth_ppb = limits->rate_limit_ppb + limits->wander_ppb + look->server_rate_doubt_ppb;
    model.doubt_ns = look->doubt.ns;
    model.doubt_ppb = look->doubt.ppb;
    model.looks = 1;
    return model;
}

struct model rgap_model_second(const struct look* first, const struct look* second,
                               const struct oscillators* limits) {
    struct model model = rgap_model_first(second, limits);
    const struct estimate *a = &first->estimate, *b = &second->estimate;
    double elapsed = (double)(int64_t)(b->local_ns - a->local_ns);
    if (first->revision != second->revision || elapsed <= 0 ||
        first->doubt.ns != second->doubt.ns) {
        return model;
    }
    double lowest = (double)(b->lowest_ns - a->highest_ns) / elapsed * 1e9;
    double highest = (double)(b->highest_ns - a->lowest_ns) / elapsed * 1e9;
    double rate = (double)(b->offset_ns - a->offset_ns) / elapsed * 1e9;
    double noise = SAME_WITHIN * (double)(half_width(a) + half_width(b)) / elapsed * 1e9;
    if (fabs(rate) < noise) {
        rate = 0;
    }
    /* If the rate of the local clock itself has changed since the first look, the comparison is
       less certain. */
    double blur = second->doubt.ppb - first->doubt.ppb;
    double doubt = fmax(fabs(highest - rate), fabs(rate - lowest)) + blur;
    if (doubt >= limits->rate_limit_ppb) {
        /* The time between the looks is too short for so long a path: the result is no better
           than the limit. */
        return model;
    }
    uint32_t server = first->server_rate_doubt_ppb > second->server_rate_doubt_ppb
                          ? first->server_rate_doubt_ppb
                          : second->server_rate_doubt_ppb;
    model.rate_ppb = rate;
    model.rate_doubt_ppb = doubt;
    model.growth_ppb = doubt + limits->wander_ppb + server;
    model.looks = 2;
    return model;
}

static uint64_t steady_time(const struct model* model, uint64_t local_ns) {
    int64_t elapsed = (int64_t)(local_ns - model->local_ref_ns);
    int64_t drift = (int64_t)floor((double)elapsed * model->rate_ppb * 1e-9);
    return local_ns + (uint64_t)(model->offset_ns + drift);
}

static int64_t left_of_slew(const struct model* model, uint64_t local_ns) {
    int64_t since = (int64_t)(local_ns - model->slew_from_ns);
    int64_t given_up = since > 0 ? since / SLEW_DIVISOR : 0;
    if (model->slew_ns >= 0) {
        return model->slew_ns > given_up ? model->slew_ns - given_up : 0;
    }
    return -model->slew_ns > given_up ? model->slew_ns + given_up : 0;
}

void rgap_model_take_over(struct model* model, const struct model* old, uint64_t local_ns) {
    uint64_t before = steady_time(old, local_ns) + (uint64_t)left_of_slew(old, local_ns);
    model->slew_from_ns = local_ns;
    model->slew_ns = (int64_t)(before - steady_time(model, local_ns));
}

void rgap_model_read(const struct model* model, uint64_t local_ns, const struct rgap_doubt* doubt,
                     uint64_t* time_ns, uint64_t* bound_ns) {
    int64_t left = left_of_slew(model, local_ns);
    *time_ns = steady_time(model, local_ns) + (uint64_t)left;
    double elapsed = fabs((double)(int64_t)(local_ns - model->local_ref_ns));
    double growth = model->growth_ppb + (doubt->ppb - model->doubt_ppb);
    double grown = ceil(elapsed * growth * 1e-9);
    *bound_ns = model->half_ns + (uint64_t)grown + (uint64_t)(left < 0 ? -left : left) +
                (doubt->ns - model->doubt_ns) + 1;
}

double rgap_model_rate_doubt_ppb(const struct model* model, uint64_t local_ns) {
    double slew = left_of_slew(model, local_ns) != 0 ? 1e9 / SLEW_DIVISOR : 0;
    return model->growth_ppb + slew;
}
