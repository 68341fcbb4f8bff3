#include "rate.h"

#include "check.h"
#include "fold.h"

static void converts_exactly(void) {
    const double frequencies[] = {1e6, 24e6, 25e6, 1e9, 1.0000001e9, 2596148000.0, 3.7e9, 5.1e9};
    for (unsigned i = 0; i < sizeof(frequencies) / sizeof(*frequencies); ++i) {
        double hz = frequencies[i];
        struct rvec_rate rate = rvec_rate_make(1e9 / hz);
        CHECK(rate.mult != 0);
        CHECK_NEAR(rvec_rate_ns_per_tick(rate) * hz / 1e9, 1, 1e-15);
        /* A year in ticks. */
        uint64_t year = (uint64_t)(hz * 86400 * 365);
        CHECK_NEAR((double)rvec_ticks_to_ns(rate, year) / 86400e9 / 365, 1, 1e-14);
        CHECK_NEAR((double)rate_ns(rate, -(int64_t)year) / 86400e9 / 365, -1, 1e-14);
        uint64_t ticks = rvec_rate_ticks_at_least(rate, 1000001);
        CHECK(rvec_ticks_to_ns(rate, ticks) >= 1000001);
        CHECK(rvec_ticks_to_ns(rate, ticks - 2) < 1000001);
    }
}

static void refuses_senseless_rates(void) {
    CHECK(rvec_rate_make(0).mult == 0);
    CHECK(rvec_rate_make(-1).mult == 0);
    CHECK(rvec_rate_make(1.0 / 0.0).mult == 0);
    CHECK(rvec_rate_make(0.0 / 0.0).mult == 0);
}

/* Figure 6.1 of Dutra 2015: a clock created at tick 10, at 2 Hz until tick 20 and 1 Hz afterwards.
 * */
static void follows_the_figure_of_the_thesis(void) {
    struct fold fold = {10, 0, 0};
    struct rvec_rate two_hertz = {(uint64_t)1 << 63, 34};
    two_hertz.mult = 500000000U;
    two_hertz.shift = 0;
    struct rvec_rate one_hertz = {1000000000U, 0};
    CHECK(fold_read(&fold, two_hertz, 14) == 2000000000U);
    fold_update(&fold, two_hertz, 20);
    CHECK(fold.base_counter == 20 && fold.age_time_ns == 5000000000U);
    CHECK(fold_read(&fold, one_hertz, 23) == 8000000000U);
}

/* A million folds lose no time compared with a single one. */
static void folds_lose_no_time(void) {
    struct rvec_rate rate = rvec_rate_make(1e9 / 2596148123.0);
    struct fold often = {1000, 0, 0}, once = {1000, 0, 0};
    uint64_t seed = 1, counter = 1000;
    for (int i = 0; i < 1000000; ++i) {
        counter += random_below(&seed, 100000);
        fold_update(&often, rate, counter);
    }
    CHECK(often.age_time_ns == fold_read(&once, rate, counter));
}

static void folds_across_the_wrap(void) {
    struct rvec_rate rate = rvec_rate_make(0.5);
    struct fold fold = {UINT64_MAX - 9, 100, 0};
    CHECK(fold_read(&fold, rate, 10) == 110);
    CHECK(fold_read(&fold, rate, UINT64_MAX - 29) == 90);
    fold_update(&fold, rate, 30);
    CHECK(fold.age_time_ns == 120);
}

int main(void) {
    RUN(converts_exactly);
    RUN(refuses_senseless_rates);
    RUN(follows_the_figure_of_the_thesis);
    RUN(folds_lose_no_time);
    RUN(folds_across_the_wrap);
    return 0;
}
