/* Tests readers that move between cores whose counters differ, on a simulated counter. */
#include "reader_fixture.h"

/* Moves to a random core for a random time, and returns a reading there, larger than `last`. */
static uint64_t moved_reading(struct simulated* machine, struct rvec_clock* clock, uint64_t* seed,
                              uint64_t last) {
    machine->core = (uint32_t)random_below(seed, SIMULATED_CORES);
    simulated_pass(machine, random_unit(seed) * 1e5);
    uint64_t now = rvec_read(clock);
    CHECK(now > last);
    return now;
}

static void migration_takes_the_offset_out(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    set_offsets(rvec, &machine);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    uint64_t seed = 6, last = rvec_read(&clock);
    for (int i = 0; i < 100000; ++i) {
        double before = true_ns(&machine);
        uint64_t now = moved_reading(&machine, &clock, &seed, last);
        CHECK_NEAR(now - last, true_ns(&machine) - before, 3);
        last = now;
    }
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    CHECK(facts.jumps == 0);
    rvec_close(rvec);
}

static void core_clocks_are_read_from_anywhere(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    set_offsets(rvec, &machine);
    uint64_t seed = 7, last[SIMULATED_CORES] = {0};
    double born = true_ns(&machine);
    for (int i = 0; i < 100000; ++i) {
        machine.core = (uint32_t)random_below(&seed, SIMULATED_CORES);
        uint32_t wanted = (uint32_t)random_below(&seed, SIMULATED_CORES);
        uint64_t now;
        CHECK(rvec_core_read(rvec, wanted, &now) == RVEC_OK);
        CHECK(now > last[wanted]);
        CHECK_NEAR(now, true_ns(&machine) - born, 1100);
        last[wanted] = now;
    }
    uint64_t unused;
    CHECK(rvec_core_read(rvec, SIMULATED_CORES, &unused) == RVEC_ERROR_ARGUMENT);
    rvec_close(rvec);
}

/* A core that was off line may count from 0 again when it is back; the others count on. */
static void a_core_that_starts_anew_sets_no_time_back(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec* rvec = open_on(&source);
    set_offsets(rvec, &machine);
    struct rvec_clock clock;
    rvec_attach_process(rvec, &clock);
    double born = true_ns(&machine);
    uint64_t seed = 8, last = rvec_read(&clock);
    struct rvec_facts facts;
    for (int i = 0; i < 20000; ++i) {
        if (i % 2000 == 1000) {
            machine.offset[1] = -(int64_t)(machine.base + (uint64_t)(int64_t)machine.counter);
        }
        last = moved_reading(&machine, &clock, &seed, last);
    }
    rvec_info(rvec, &facts);
    CHECK(facts.jumps >= 10);
    CHECK_NEAR(last, true_ns(&machine) - born, (double)facts.doubt_ns);

    /* Once its new offset is subtracted, the core is like any other. */
    rvec_timeline_set_offset(&rvec->timeline, 1, machine.offset[1]);
    rvec->applied[1] = machine.offset[1];
    uint64_t jumps = facts.jumps;
    for (int i = 0; i < 20000; ++i) {
        last = moved_reading(&machine, &clock, &seed, last);
    }
    rvec_info(rvec, &facts);
    CHECK(facts.jumps <= jumps + 1);
    rvec_close(rvec);
}

int main(void) {
    RUN(migration_takes_the_offset_out);
    RUN(core_clocks_are_read_from_anywhere);
    RUN(a_core_that_starts_anew_sets_no_time_back);
    return 0;
}
