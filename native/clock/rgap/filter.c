#include "filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rgap_filter_start(struct filter* filter, const struct filter_rule* rule) {
    filter->rule = *rule;
    filter->seen = 0;
    filter->kept = 0;
    filter->smallest_count = 0;
    if (filter->rule.smallest > FILTER_SMALLEST) {
        filter->rule.smallest = FILTER_SMALLEST;
    }
}

static int64_t way_there(const struct sample* s) { return (int64_t)(s->t2 - s->t1); }
static int64_t way_back(const struct sample* s) { return (int64_t)(s->t4 - s->t3); }

static void keep_if_small(struct filter* filter, int64_t rtt) {
    uint32_t at = filter->smallest_count;
    if (at == filter->rule.smallest) {
        if (at == 0 || rtt >= filter->smallest[at - 1]) {
            return;
        }
        at -= 1;
    } else {
        filter->smallest_count += 1;
    }
    for (; at > 0 && filter->smallest[at - 1] > rtt; --at) {
        filter->smallest[at] = filter->smallest[at - 1];
    }
    filter->smallest[at] = rtt;
}

static double spread(const struct filter* filter) {
    uint32_t n = filter->smallest_count;
    double mean = 0, squares = 0;
    for (uint32_t i = 0; i < n; ++i) {
        mean += (double)(filter->smallest[i] - filter->smallest[0]) / n;
    }
    for (uint32_t i = 0; i < n; ++i) {
        double off = (double)(filter->smallest[i] - filter->smallest[0]) - mean;
        squares += off * off;
    }
    return n > 1 ? sqrt(squares / (n - 1)) : INFINITY;
}

int rgap_filter_add(struct filter* filter, const struct sample* sample) {
    filter->seen += 1;
    if (filter->seen <= filter->rule.discard) {
        return 0;
    }
    filter->sample[filter->kept % FILTER_KEPT] = *sample;
    filter->kept += 1;
    keep_if_small(filter, way_there(sample) + way_back(sample));
    if (filter->kept >= filter->rule.max_exchanges) {
        return 1;
    }
    return filter->kept >= filter->rule.min_exchanges &&
           filter->smallest_count == filter->rule.smallest &&
           spread(filter) < filter->rule.spread_ns;
}

static int by_size(const void* a, const void* b) {
    int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
    return (x > y) - (x < y);
}

static int64_t tenth_percentile(int64_t* ways, uint32_t count) {
    qsort(ways, count, sizeof(*ways), by_size);
    return ways[count / 10];
}

/* Width in ns by which a sample's limits are relaxed. If two clocks run at different rates, their
 * offset changes between exchanges: the farther a sample is from the middle of the look, the less
 * it proves. */
static int64_t drift_allowance(const struct filter* filter, const struct sample* s,
                               uint64_t middle) {
    double before = fabs((double)(int64_t)(middle - s->t1));
    double after = fabs((double)(int64_t)(s->t4 - middle));
    double distance = fmax(before, after);
    return (int64_t)ceil(distance * filter->rule.rate_limit_ppm * 1e-6) + (int64_t)s->error_ns;
}

static int64_t between(int64_t value, int64_t lowest, int64_t highest) {
    value = value < lowest ? lowest : value;
    return value > highest ? highest : value;
}

int rgap_filter_finish(const struct filter* filter, struct estimate* out) {
    uint32_t count = filter->kept < FILTER_KEPT ? filter->kept : FILTER_KEPT;
    if (count == 0) {
        return 0;
    }
    uint32_t first = filter->kept < FILTER_KEPT ? 0 : filter->kept % FILTER_KEPT;
    uint64_t start = filter->sample[first].t1;
    uint64_t end = filter->sample[(first + count - 1) % FILTER_KEPT].t4;
    out->local_ns = start + (end - start) / 2;
    out->lowest_ns = INT64_MIN;
    out->highest_ns = INT64_MAX;
    out->min_rtt_ns = filter->smallest[0];
    out->spread_ns = spread(filter);
    int64_t there[FILTER_KEPT], back[FILTER_KEPT];
    for (uint32_t i = 0; i < count; ++i) {
        const struct sample* s = &filter->sample[i];
        int64_t slack = drift_allowance(filter, s, out->local_ns);
        there[i] = way_there(s);
        back[i] = way_back(s);
        out->highest_ns = there[i] + slack < out->highest_ns ? there[i] + slack : out->highest_ns;
        out->lowest_ns = -back[i] - slack > out->lowest_ns ? -back[i] - slack : out->lowest_ns;
    }
    if (out->lowest_ns > out->highest_ns) {
        return 0; /* one clock has jumped meanwhile */
    }
    int64_t guess = tenth_percentile(there, count) - tenth_percentile(back, count);
    out->offset_ns = between(guess / 2, out->lowest_ns, out->highest_ns);
    return 1;
}
