#include "filter.h"

#include <math.h>

#include "check.h"

static const struct filter_rule RULE = {5, 20, 20, 10000, 500, 250};
static struct filter filter;

/* Simulates one exchange between two clocks that differ by `offset` at `t1`. */
static struct sample exchanged(uint64_t t1, int64_t offset, uint64_t there, uint64_t back) {
    struct sample s;
    s.t1 = t1;
    s.t2 = t1 + (uint64_t)offset + there;
    s.t3 = s.t2 + 700;
    s.t4 = s.t3 - (uint64_t)offset + back;
    s.error_ns = 0;
    return s;
}

static void stops_when_the_smallest_agree(void) {
    rgap_filter_start(&filter, &RULE);
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 24; ++i) {
        struct sample s = exchanged(1000000 + i * 10000, 5, 4000 + random_below(&seed, 100), 4000);
        CHECK(!rgap_filter_add(&filter, &s));
    }
    struct sample last = exchanged(2000000, 5, 4000, 4000);
    CHECK(rgap_filter_add(&filter, &last));
}

static void goes_on_while_they_do_not(void) {
    rgap_filter_start(&filter, &RULE);
    uint64_t seed = 2;
    for (uint32_t i = 0; i < 10004; ++i) {
        /* Each way is longer than the one before, so even the smallest are far apart. */
        struct sample s = exchanged(1000000 + i * 100000, 0, 1000000 + i * 50000, 4000);
        CHECK(!rgap_filter_add(&filter, &s));
    }
    struct sample last = exchanged(2000000000, 0, 1 + random_below(&seed, 10), 4000);
    CHECK(rgap_filter_add(&filter, &last));
}

static void the_first_are_discarded(void) {
    rgap_filter_start(&filter, &RULE);
    for (uint32_t i = 0; i < 25; ++i) {
        struct sample s = exchanged(1000000 + i * 10000, 0, i < 5 ? 10 : 4000, 4000);
        rgap_filter_add(&filter, &s);
    }
    struct estimate estimate;
    CHECK(rgap_filter_finish(&filter, &estimate));
    CHECK(estimate.min_rtt_ns == 8000);
    CHECK(estimate.offset_ns == 0);
}

static void nothing_in_nothing_out(void) {
    struct estimate estimate;
    rgap_filter_start(&filter, &RULE);
    CHECK(!rgap_filter_finish(&filter, &estimate));
}

/* Whatever the delays, the offset and the rates (within the limit), the true offset is in the
 * interval. */
static void the_interval_holds_the_truth(void) {
    uint64_t seed = 3;
    for (int run = 0; run < 2000; ++run) {
        rgap_filter_start(&filter, &RULE);
        int64_t offset = (int64_t)random_below(&seed, 2000000000) - 1000000000;
        double rate = (random_unit(&seed) * 2 - 1) * 249e-6;
        uint64_t t = 1000000000000U, start = t;
        uint64_t extra_there = random_below(&seed, 100000), extra_back = random_below(&seed, 100);
        int done = 0;
        while (!done) {
            double heavy = pow(random_unit(&seed) + 1e-9, -0.7);
            int64_t now = offset + (int64_t)floor(rate * (double)(t - start));
            struct sample s = exchanged(t, now, extra_there + (uint64_t)(2000 * heavy),
                                        extra_back + 2000 + random_below(&seed, 3000));
            done = rgap_filter_add(&filter, &s);
            t = s.t4 + random_below(&seed, 20000);
        }
        struct estimate e;
        CHECK(rgap_filter_finish(&filter, &e));
        double truth = (double)offset + rate * (double)(e.local_ns - start);
        CHECK(truth >= (double)e.lowest_ns - 2 && truth <= (double)e.highest_ns + 2);
        CHECK(e.offset_ns >= e.lowest_ns && e.offset_ns <= e.highest_ns);
    }
}

/* Disturbing a quarter of the exchanges in each direction moves the estimate only a little. */
static void symmetric_paths_give_a_close_estimate(void) {
    uint64_t seed = 4;
    for (int run = 0; run < 500; ++run) {
        rgap_filter_start(&filter, &RULE);
        uint64_t t = 1000000;
        int done = 0;
        while (!done) {
            uint64_t slow_there = random_below(&seed, 4) == 0 ? random_below(&seed, 20000) : 0;
            uint64_t slow_back = random_below(&seed, 4) == 0 ? random_below(&seed, 20000) : 0;
            struct sample s = exchanged(t, -12345, 220 + random_below(&seed, 40) + slow_there,
                                        220 + random_below(&seed, 40) + slow_back);
            done = rgap_filter_add(&filter, &s);
            t += 15000;
        }
        struct estimate e;
        CHECK(rgap_filter_finish(&filter, &e));
        CHECK_NEAR(e.offset_ns, -12345, 25);
    }
}

static void a_jump_during_the_look_is_no_result(void) {
    rgap_filter_start(&filter, &RULE);
    for (uint32_t i = 0; i < 25; ++i) {
        struct sample s = exchanged(1000000 + i * 10000, i < 12 ? 0 : 1000000, 4000, 4000);
        rgap_filter_add(&filter, &s);
    }
    struct estimate estimate;
    CHECK(!rgap_filter_finish(&filter, &estimate));
}

int main(void) {
    RUN(stops_when_the_smallest_agree);
    RUN(goes_on_while_they_do_not);
    RUN(the_first_are_discarded);
    RUN(nothing_in_nothing_out);
    RUN(the_interval_holds_the_truth);
    RUN(symmetric_paths_give_a_close_estimate);
    RUN(a_jump_during_the_look_is_no_result);
    return 0;
}
