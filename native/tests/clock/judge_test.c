#include "judge.h"

#include "check.h"

static const double HZ = 2.5e9;

static struct judgement case_of(double counted_ns, double awake_ns, double asleep_ns,
                                double suspect) {
    struct witness before = {1000000, 50, 5000, 7000}, now = before;
    now.counter += (uint64_t)(int64_t)(counted_ns * HZ / 1e9);
    now.reference_ns += (uint64_t)awake_ns;
    now.suspended_ns += (uint64_t)asleep_ns;
    return rvec_judge(&before, &now, rvec_rate_make(1e9 / HZ), 1000,
                      (struct suspicion){suspect, 100000000});
}

static void steady_within_the_oscillators(void) {
    CHECK(case_of(1e9, 1e9, 0, 0).verdict == RVEC_STEADY);
    CHECK(case_of(1e9, 1e9 + 40000, 0, 0).verdict == RVEC_STEADY);
    CHECK(case_of(1e9, 1e9, 900000, 0).verdict == RVEC_STEADY);
    CHECK_NEAR(case_of(1e9, 1e9, 0, 0).elapsed_ns, 1e9, 1);
}

static void sleep_with_and_without_the_counter(void) {
    CHECK(case_of(61e9, 1e9, 60e9, 0).verdict == RVEC_STEADY);
    struct judgement stood = case_of(1e9, 1e9, 60e9, 0);
    CHECK(stood.verdict == RVEC_SUSPENDED);
    CHECK_NEAR(stood.elapsed_ns, 61e9, 2000);
    CHECK(stood.doubt_ns >= 1000000000);
    struct judgement reset = case_of(-100e9, 1e9, 60e9, 0);
    CHECK(reset.verdict == RVEC_JUMPED);
    CHECK_NEAR(reset.elapsed_ns, 61e9, 2000);
}

static void jumps_both_ways(void) {
    CHECK(case_of(2e9, 1e9, 0, 0).verdict == RVEC_JUMPED);
    CHECK(case_of(-5e9, 1e9, 0, 0).verdict == RVEC_JUMPED);
    CHECK(case_of(-5e9, 1e9, 0, 0.5).verdict == RVEC_JUMPED);
    CHECK_NEAR(case_of(-5e9, 1e9, 0, 0).elapsed_ns, 1e9, 2000);
    /* The result is never less than what readers may have returned before the jump. */
    CHECK(case_of(-5e9, 1e9, 0, 0).elapsed_ns >= 1000000000 + 1000);
}

static void the_second_disagreement_is_a_rate(void) {
    struct judgement slower = case_of(0.8e9, 1e9, 0, 0.5);
    CHECK(case_of(0.8e9, 1e9, 0, 0.51).verdict == RVEC_JUMPED);
    CHECK(slower.verdict == RVEC_RATE_CHANGED);
    CHECK_NEAR(rvec_rate_ns_per_tick(slower.rate), 1e9 / HZ / 0.8, 1e-6);
    CHECK(case_of(1e6, 1e9, 0, 400).verdict == RVEC_JUMPED);
}

/* A jump that readers may have followed stays; one that they must have noticed is corrected. */
static void keeps_what_was_given_out(void) {
    CHECK_NEAR(case_of(1.09e9, 1e9, 0, 0).elapsed_ns, 1.09e9, 1);
    CHECK_NEAR(case_of(1.09e9, 1e9, 0, 0).doubt_ns, 0.09e9, 100000);
    CHECK_NEAR(case_of(1.11e9, 1e9, 0, 0).elapsed_ns, 1e9, 2000);
    CHECK_NEAR(case_of(0.91e9, 1e9, 0, 0).elapsed_ns, 1e9, 2000);
}

int main(void) {
    RUN(keeps_what_was_given_out);
    RUN(steady_within_the_oscillators);
    RUN(sleep_with_and_without_the_counter);
    RUN(jumps_both_ways);
    RUN(the_second_disagreement_is_a_rate);
    return 0;
}
