#include "look.h"

#include <stdlib.h>
#include <string.h>

#include "bound.h"

/* As in Dutra 2015, the first 5 exchanges are not counted: in them the partner has been listening
 * for long, later it has just sent, which made that way alone up to 3 us shorter over TCP. The
 * thesis then stops by the 20 shortest of up to 10,000 exchanges. Here a program waits in MPI_Init,
 * so the rule considers only 4 round trips, whose standard deviation must be below the thesis's 500
 * ns: if 4 are so similar, both ranks were running. At most 18 exchanges are made; HCA3 makes 20.
 * Two oscillators differ by at most 250 ppm. With AFERIR_MPI_RULE=published the thesis's own rule
 * is used, to compare the two. */
struct filter_rule look_rule(void) {
    static const struct filter_rule quick = {5, 4, 9, 13, 500, 250};
    static const struct filter_rule published = {5, 20, 20, 9995, 500, 250};
    const char* wish = getenv("AFERIR_MPI_RULE");
    return wish != NULL && strcmp(wish, "published") == 0 ? published : quick;
}

uint32_t look_most_exchanges(void) {
    struct filter_rule rule = look_rule();
    return rule.discard + rule.max_exchanges;
}

int look_at(const struct asker* asker, struct look_result* out) {
    struct filter filter;
    struct filter_rule rule = look_rule();
    struct answer answer = {0, 0, 0};
    rgap_filter_start(&filter, &rule);
    for (int done = 0; !done;) {
        struct sample sample;
        sample.error_ns = 1;
        sample.t1 = asker->now_ns(asker->context);
        if (!asker->ask(asker->context, filter.seen + 1 == look_most_exchanges(), &answer)) {
            return 0;
        }
        sample.t4 = asker->now_ns(asker->context);
        /* The server reads its clock once, between receiving and sending. */
        sample.t2 = sample.t3 = answer.time_ns;
        done = rgap_filter_add(&filter, &sample);
    }
    out->exchanges = filter.seen;
    out->rate_ppb = 0;
    out->rate_doubt_ppb = 1000 * rule.rate_limit_ppm;
    struct estimate estimate;
    if (!rgap_filter_finish(&filter, &estimate)) {
        return 0;
    }
    /* Takes the middle of the interval that is certain. The 10th percentiles that filter_finish()
     * prefers suit noisy stamps; a counter's are not noisy, and on busy cores percentiles contain
     * waits. */
    int64_t width = estimate.highest_ns - estimate.lowest_ns;
    out->offset_ns = estimate.lowest_ns + width / 2;
    out->doubt_ns = (uint64_t)(width - width / 2) + answer.doubt_ns;
    out->min_rtt_ns = estimate.min_rtt_ns;
    out->local_ns = estimate.local_ns;
    return 1;
}

static struct look as_look(const struct look_result* result) {
    struct look look;
    memset(&look, 0, sizeof(look));
    look.estimate.local_ns = result->local_ns;
    look.estimate.offset_ns = result->offset_ns;
    look.estimate.lowest_ns = result->offset_ns - (int64_t)result->doubt_ns;
    look.estimate.highest_ns = result->offset_ns + (int64_t)result->doubt_ns;
    return look;
}

void look_rate(const struct look_result* first, struct look_result* second) {
    struct look before = as_look(first), after = as_look(second);
    struct oscillators limits = {1000 * look_rule().rate_limit_ppm, 0};
    struct model model = rgap_model_second(&before, &after, &limits);
    second->rate_ppb = model.rate_ppb;
    second->rate_doubt_ppb = model.rate_doubt_ppb;
}

int64_t look_offset_at(const struct look_result* look, uint64_t local_ns) {
    double elapsed = (double)(int64_t)(local_ns - look->local_ns);
    return look->offset_ns + (int64_t)(elapsed * look->rate_ppb * 1e-9);
}
