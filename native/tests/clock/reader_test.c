/* Tests readers on a simulated counter: strict increase and true durations through rate changes,
 * jumps and wraps. */
#include "reader_fixture.h"

static void starts_at_zero_and_counts_true_time(void) {
    struct simulated machine = simulated_machine(2596148000.0);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    CHECK(rvec_attach_thread(rvec, &clock) == RVEC_OK);
    double born = true_ns(&machine);
    uint64_t first = rvec_read(&clock);
    CHECK(first > 0 && first < 100);
    for (int i = 0; i < 1000; ++i) {
        simulated_pass(&machine, 3.3e6);
        CHECK_NEAR(rvec_read(&clock), true_ns(&machine) - born, 3 + 3e-6 * 3.3e9);
    }
    rvec_close(rvec);
}

/* A counter of 24 MHz shows the same value many times over; readings still differ, and by no more
 * than one tick from the truth. */
static void counts_up_within_a_coarse_tick(void) {
    struct simulated machine = simulated_machine(24e6);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    machine.read_ns = 3;
    struct rvec_clock clock;
    CHECK(rvec_attach_thread(rvec, &clock) == RVEC_OK);
    double born = true_ns(&machine);
    uint64_t last = 0;
    for (int i = 0; i < 1000000; ++i) {
        uint64_t now = rvec_read(&clock);
        CHECK(now > last);
        CHECK_NEAR(now, true_ns(&machine) - born, 50 + 6e-6 * (double)now);
        last = now;
    }
    rvec_close(rvec);
}

static void two_threads_differ_by_a_constant(void) {
    struct simulated machine = simulated_machine(3e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock one, other;
    rvec_attach_thread(rvec, &one);
    simulated_pass(&machine, 12345678);
    rvec_attach_thread(rvec, &other);
    uint64_t seed = 5;
    int64_t smallest = INT64_MAX, largest = INT64_MIN;
    for (int i = 0; i < 20000; ++i) {
        simulated_pass(&machine, random_unit(&seed) * 1e7);
        machine.core = (uint32_t)random_below(&seed, SIMULATED_CORES);
        int64_t difference = (int64_t)(rvec_read(&one) - rvec_read(&other));
        smallest = difference < smallest ? difference : smallest;
        largest = difference > largest ? difference : largest;
    }
    CHECK(largest - smallest <= 2);
    rvec_close(rvec);
}

/* Causes one disturbance of the counter; a reader notices it at its next reading and never goes
 * back. */
static void disturbed(void (*disturb)(struct simulated*), double extra_error_ns,
                      uint64_t expected_jumps) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    uint64_t last = rvec_read(&clock);
    for (int i = 0; i < 50; ++i) {
        double before = true_ns(&machine);
        uint64_t started = last;
        simulated_pass(&machine, 5e6);
        if (i == 25) {
            disturb(&machine);
        }
        uint64_t now = rvec_read(&clock);
        CHECK(now > last);
        CHECK_NEAR(now - started, true_ns(&machine) - before,
                   i == 25 ? extra_error_ns : 100 + 5e6 * 1e-5);
        last = now;
    }
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    CHECK(facts.jumps == expected_jumps);
    rvec_close(rvec);
}

static void reset_to_zero(struct simulated* machine) {
    machine->base = 0;
    machine->counter = 1000;
}
static void jump_ahead(struct simulated* machine) { machine->counter += 2.5e12; }
static void jump_back(struct simulated* machine) { machine->counter -= 2.5e7; }
static void sleep_and_stop(struct simulated* machine) { machine->suspended_ns += 3600e9; }
static void sleep_and_reset(struct simulated* machine) {
    machine->suspended_ns += 3600e9;
    machine->counter = -1e9;
}
static void sleep_counting(struct simulated* machine) {
    machine->suspended_ns += 3600e9;
    machine->counter += 3600 * 2.5e9;
}

static void jumps_are_folded_in(void) {
    disturbed(reset_to_zero, 2000, 1);
    disturbed(jump_ahead, 2000, 1);
    disturbed(jump_back, 2000, 1);
    disturbed(sleep_and_reset, 2000, 1);
    disturbed(sleep_counting, 5e7, 0);
}

/* If the counter stands still during a sleep, readers see no pause at all, so the sleep is found by
 * the next check, not by the next reading. */
static void a_sleep_of_the_counter_is_found_by_a_check(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    double before = true_ns(&machine);
    uint64_t start = rvec_read(&clock);
    sleep_and_stop(&machine);
    enum rvec_verdict verdict;
    CHECK(rvec_check(rvec, &verdict) == RVEC_OK);
    CHECK(verdict == RVEC_SUSPENDED);
    CHECK_NEAR(rvec_read(&clock) - start, true_ns(&machine) - before, 5000);
    rvec_close(rvec);
}

/* After a live migration to a machine with another frequency, the change is first taken for a jump,
 * then recognised as a new rate. */
static void another_rate_is_learnt(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    uint64_t last = rvec_read(&clock);
    machine.hz = 3.1e9;
    for (int i = 0; i < 30; ++i) {
        simulated_pass(&machine, 2e8);
        uint64_t now = rvec_read(&clock);
        CHECK(now > last);
        last = now;
    }
    double before = true_ns(&machine);
    simulated_pass(&machine, 1e9);
    CHECK_NEAR(rvec_read(&clock) - last, true_ns(&machine) - before, 1e9 * 1e-5);
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    CHECK(facts.rate_changes >= 1);
    CHECK_NEAR(facts.frequency_hz, 3.1e9, 3.1e9 * 1e-5);
    CHECK(facts.doubt_ns > 0);
    rvec_close(rvec);
}

/* One thread has run ahead with a counter that is too fast; after the correction no other thread
 * may get a smaller reading than that thread got before. */
static void threads_adopt_a_correction_in_causal_order(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock one, other;
    rvec_attach_process(rvec, &one);
    rvec_attach_process(rvec, &other);
    rvec_read(&other);
    machine.hz = 3.1e9;
    uint64_t last = rvec_read(&one);
    for (int i = 0; i < 600; ++i) {
        simulated_pass(&machine, 1e6);
        last = rvec_read(&one);
    }
    enum rvec_verdict verdict;
    CHECK(rvec_check(rvec, &verdict) == RVEC_OK);
    CHECK(verdict == RVEC_JUMPED);
    for (int i = 0; i < 100; ++i) {
        uint64_t now = rvec_read(i % 2 ? &other : &one);
        CHECK(now > last);
        last = now;
    }
    rvec_close(rvec);
}

static void the_counter_wraps(void) {
    struct simulated machine = simulated_machine(2.5e9);
    machine.base = UINT64_MAX - 1000000000U;
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    uint64_t last = rvec_read(&clock);
    for (int i = 0; i < 20000; ++i) {
        double before = true_ns(&machine);
        simulated_pass(&machine, 99999.7);
        uint64_t now = rvec_read(&clock);
        CHECK_NEAR(now - last, true_ns(&machine) - before, 3);
        last = now;
    }
    CHECK(machine.base + (uint64_t)machine.counter < machine.base);
    rvec_close(rvec);
}

/* Reads in fine steps around the multiples of 2^32, where readers move their base. */
static void rebasing_is_seamless(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    uint64_t last = rvec_read(&clock);
    for (int turn = 0; turn < 5; ++turn) {
        uint64_t counter = simulated_read(&machine).counter;
        double left = (double)(0x100000000U - (counter & 0xffffffff)) / 2.5;
        while (left > 9e7) {
            simulated_pass(&machine, 8e7);
            last = rvec_read(&clock);
            left -= 8e7;
        }
        simulated_pass(&machine, left - 20000);
        last = rvec_read(&clock);
        machine.read_ns = 0.4;
        for (int i = 0; i < 100000; ++i) {
            uint64_t now = rvec_read(&clock);
            CHECK(now > last);
            last = now;
        }
        machine.read_ns = 20;
    }
    rvec_close(rvec);
}

static void refinement_narrows_the_rate(void) {
    struct simulated machine = simulated_machine(2596148123.0);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    struct rvec_facts coarse, fine;
    rvec_info(rvec, &coarse);
    simulated_pass(&machine, 100e9);
    CHECK(rvec_refine(rvec) == RVEC_OK);
    rvec_info(rvec, &fine);
    CHECK(fine.uncertainty_ppb < coarse.uncertainty_ppb / 1000);
    CHECK_NEAR((fine.frequency_hz / 2596148123.0 - 1) * 1e9, 0, fine.uncertainty_ppb);
    rvec_close(rvec);
}

/* Runs all kinds of disturbances at random for a long time: time never goes back, and its error
 * stays within the doubt. */
static void anything_may_happen(uint64_t seed) {
    struct simulated machine = simulated_machine(1.1e9 + 3e9 * random_unit(&seed));
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    set_offsets(rvec, &machine);
    struct rvec_clock clocks[3];
    uint64_t last = 0;
    rvec_attach_process(rvec, &clocks[0]);
    rvec_attach_process(rvec, &clocks[1]);
    rvec_attach_process(rvec, &clocks[2]);
    for (int i = 0; i < 20000; ++i) {
        switch (random_below(&seed, 200)) {
            case 0:
                machine.counter += (random_unit(&seed) - 0.5) * 1e12;
                break;
            case 1:
                machine.suspended_ns += random_unit(&seed) * 1e10;
                machine.counter = random_unit(&seed) * 1e12;
                break;
            case 2:
                simulated_pass(&machine, 3e8);
                break;
            case 3:
                rvec_check(rvec, NULL);
                break;
            default:
                simulated_pass(&machine, random_unit(&seed) * 1000);
                machine.core = (uint32_t)random_below(&seed, SIMULATED_CORES);
        }
        /* Clocks are read in turn, as in a causal chain of threads; the hard case is a thread that
         * has slept through a jump. A jump shorter than the slack cannot be distinguished from
         * noise. */
        uint64_t now = rvec_read(&clocks[i % 3]);
        CHECK(now + 1000 > last);
        last = now > last ? now : last;
    }
    rvec_close(rvec);
}

static void random_histories(void) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        anything_may_happen(seed);
    }
}

int main(void) {
    RUN(starts_at_zero_and_counts_true_time);
    RUN(counts_up_within_a_coarse_tick);
    RUN(two_threads_differ_by_a_constant);
    RUN(jumps_are_folded_in);
    RUN(a_sleep_of_the_counter_is_found_by_a_check);
    RUN(another_rate_is_learnt);
    RUN(threads_adopt_a_correction_in_causal_order);
    RUN(the_counter_wraps);
    RUN(rebasing_is_seamless);
    RUN(refinement_narrows_the_rate);
    RUN(random_histories);
    return 0;
}
