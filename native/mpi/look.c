#include "look.h"

/* The seed discards D = 5 exchanges and allows 10,000; HCA3 takes 100 for one offset, and past
 * them a busy host's round trips do not get shorter. Two oscillators differ by at most 250 ppm. */
struct filter_rule look_rule(void) {
    struct filter_rule rule = {5, 20, 20, 95, 500, 250};
    return rule;
}

int look_at(const struct asker* asker, struct look_result* out) {
    struct filter filter;
    struct filter_rule rule = look_rule();
    struct answer answer = {0, 0};
    filter_start(&filter, &rule);
    for (int done = 0; !done;) {
        struct sample sample;
        sample.error_ns = 1;
        sample.t1 = asker->now_ns(asker->context);
        if (!asker->ask(asker->context, &answer)) {
            return 0;
        }
        sample.t4 = asker->now_ns(asker->context);
        /* The server reads its clock once, between receiving and sending. */
        sample.t2 = sample.t3 = answer.time_ns;
        done = filter_add(&filter, &sample);
    }
    struct estimate estimate;
    if (!filter_finish(&filter, &estimate)) {
        return 0;
    }
    out->offset_ns = estimate.offset_ns;
    int64_t above = estimate.highest_ns - estimate.offset_ns;
    int64_t below = estimate.offset_ns - estimate.lowest_ns;
    out->doubt_ns = (uint64_t)(above > below ? above : below) + answer.doubt_ns;
    out->min_rtt_ns = estimate.min_rtt_ns;
    out->exchanges = filter.seen;
    return 1;
}
