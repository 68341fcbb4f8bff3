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
        CHECK(calibration_run(&source, 20000000, &calibration) == RVEC_OK);
        double off_ppb = (calibration.ns_per_tick * hz / 1e9 - 1) * 1e9;
        CHECK_NEAR(off_ppb, 0, calibration.uncertainty_ppb + 2e9 / 20e6 / (hz / 1e9));
    }
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
    CHECK(calibration_run(&source, 20000000, &calibration) == RVEC_ERROR_CALIBRATION);
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
    CHECK(calibration_run(&source, 20000000, &calibration) == RVEC_ERROR_CALIBRATION);
}

/* The bound holds, and no hand-over seems to go back, whatever the asymmetry. */
static void offset_keeps_causal_order(void) {
    uint64_t seed = 4;
    for (int i = 0; i < 100000; ++i) {
        int64_t truth = (int64_t)random_below(&seed, 2000000) - 1000000;
        int64_t there = 1 + (int64_t)random_below(&seed, 500);
        int64_t back = 1 + (int64_t)random_below(&seed, 500);
        struct offset found = offset_from_ways(there + truth, back - truth);
        int64_t off = found.ticks - truth;
        CHECK((off < 0 ? -off : off) <= (int64_t)found.uncertainty);
        CHECK(there + truth - found.ticks > 0);
        CHECK(back - truth + found.ticks > 0);
    }
}

int main(void) {
    RUN(finds_the_rate_within_its_own_interval);
    RUN(refuses_a_counter_that_jumps_meanwhile);
    RUN(refuses_a_counter_that_stands_still);
    RUN(offset_keeps_causal_order);
    return 0;
}
