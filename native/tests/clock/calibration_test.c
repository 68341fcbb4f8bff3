#include "calibration.h"

#include "check.h"
#include "offsets.h"
#include "simulated_counter.h"

static void finds_the_rate_within_its_own_interval(void) {
    uint64_t seed = 3;
    for (int i = 0; i < 200; ++i) {
        double hz = 1e6 + random_unit(&seed) * 5e9;
        struct simulated machine = simulated_machine(hz);
        struct rvec_source source = simulated_source(&machine);
        struct calibration calibration;
        CHECK(rvec_calibration_run(&source, 20000000, &calibration) == RVEC_OK);
        double off_ppb = (calibration.ns_per_tick * hz / 1e9 - 1) * 1e9;
        CHECK_NEAR(off_ppb, 0, calibration.uncertainty_ppb + 2e9 / 20e6 / (hz / 1e9));
    }
}

static int reads_left;

static struct rvec_reading read_slowly_at_last(void* context) {
    if (--reads_left < 0) {
        simulated_pass(context, 40000); /* interrupted each time */
    }
    return simulated_read(context);
}

/* One look is wide: on a busy machine all of its brackets may be disturbed. */
static void one_bad_look_does_not_spoil_the_others(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct calibration calibration;
    source.read = read_slowly_at_last;
    reads_left = 8 * 16 * 2;
    CHECK(rvec_calibration_run(&source, 20000000, &calibration) == RVEC_OK);
    CHECK_NEAR((calibration.ns_per_tick * 2.5 - 1) * 1e9, 0, 2000);
}

static uint64_t asleep_ever_less(void* context) {
    static uint64_t asleep = 1000;
    (void)context;
    return asleep -= 3;
}

/* The time asleep is a difference of two readings, and has their noise, which must not count as
 * sleep. */
static void noise_is_no_sleep(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct calibration calibration;
    source.suspended_ns = asleep_ever_less;
    CHECK(rvec_calibration_run(&source, 20000000, &calibration) == RVEC_OK);
}

static void jump_before_third_look(void* context, uint64_t ns) {
    static int naps;
    simulated_nap(context, ns);
    if (++naps % 8 == 3) {
        ((struct simulated*)context)->counter += 1e9;
    }
}

static void refuses_a_counter_that_jumps_meanwhile(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    source.nap = jump_before_third_look;
    struct calibration calibration;
    CHECK(rvec_calibration_run(&source, 20000000, &calibration) == RVEC_ERROR_CALIBRATION);
}

static void stop(void* context, uint64_t ns) {
    ((struct simulated*)context)->now_ns += (double)ns;
    ((struct simulated*)context)->hz = 0;
}

static void refuses_a_counter_that_stands_still(void) {
    struct simulated machine = simulated_machine(0);
    struct rvec_source source = simulated_source(&machine);
    source.nap = stop;
    struct calibration calibration;
    CHECK(rvec_calibration_run(&source, 20000000, &calibration) == RVEC_ERROR_CALIBRATION);
}

/* The bound holds, and no hand-over seems to go back, whatever the asymmetry. */
static void offset_keeps_causal_order(void) {
    uint64_t seed = 4;
    for (int i = 0; i < 100000; ++i) {
        int64_t truth = (int64_t)random_below(&seed, 2000000) - 1000000;
        int64_t there = 1 + (int64_t)random_below(&seed, 500);
        int64_t back = 1 + (int64_t)random_below(&seed, 500);
        struct offset found = rvec_offset_from_ways(there + truth, back - truth);
        int64_t off = found.ticks - truth;
        CHECK((off < 0 ? -off : off) <= (int64_t)found.uncertainty);
        CHECK(there + truth - found.ticks > 0);
        CHECK(back - truth + found.ticks > 0);
    }
}

int main(void) {
    RUN(finds_the_rate_within_its_own_interval);
    RUN(one_bad_look_does_not_spoil_the_others);
    RUN(noise_is_no_sleep);
    RUN(refuses_a_counter_that_jumps_meanwhile);
    RUN(refuses_a_counter_that_stands_still);
    RUN(offset_keeps_causal_order);
    return 0;
}
