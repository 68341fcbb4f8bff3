/* Tests a change of rate while readers go on: no reading may mix the old rate and the new one. */
#include "check.h"
#include "rvec_private.h"
#include "simulated_counter.h"

/* Readings of two threads, taken while a third, which has begun to set a new rate, does not get its
 * core. */
struct preemption {
    struct rvec* rvec;
    struct rvec_clock* one;
    struct rvec_clock* other;
    uint64_t first, second, third; /* one, other after 1 ms, one after 1 ms; 0: not yet */
};

/* A thread reads at the old rate while another, which has looked at the reference clock, loses its
 * core before it can set the new rate. */
struct interruption {
    struct simulated* machine;
    struct rvec_clock* reader;
    int countdown; /* looks at the reference until the interruption; 0: none */
    uint64_t read;
    struct preemption meanwhile;
};

static uint64_t reference_with_interruption(void* context) {
    struct interruption* interruption = context;
    if (interruption->countdown > 0 && --interruption->countdown == 0) {
        simulated_pass(interruption->machine, 5e7);
        interruption->read = rvec_read(interruption->reader);
    }
    return simulated_reference(interruption->machine);
}

static void read_meanwhile(struct simulated* machine, struct preemption* meanwhile) {
    struct rvec* rvec = meanwhile->rvec;
    meanwhile->rvec = NULL; /* once, and not in the readings below */
    if (rvec == NULL || rvec->timeline.generation % 2 == 0) {
        meanwhile->rvec = rvec;
        return;
    }
    simulated_pass(machine, 5e7);
    meanwhile->first = rvec_read(meanwhile->one);
    simulated_pass(machine, 1e6);
    meanwhile->second = rvec_read(meanwhile->other);
    simulated_pass(machine, 1e6);
    meanwhile->third = rvec_read(meanwhile->one);
}

static struct rvec_reading read_machine(void* context) {
    struct interruption* interruption = context;
    read_meanwhile(interruption->machine, &interruption->meanwhile);
    return simulated_read(interruption->machine);
}
static uint64_t suspended_of_machine(void* context) {
    return simulated_suspended(((struct interruption*)context)->machine);
}
static void nap_of_machine(void* context, uint64_t ns) {
    simulated_nap(((struct interruption*)context)->machine, ns);
}

static struct rvec_source source_of(struct interruption* interruption) {
    struct rvec_source source = {interruption,         read_machine,   reference_with_interruption,
                                 suspended_of_machine, nap_of_machine, 0,
                                 SIMULATED_CORES};
    return source;
}

/* Opens a clock with two readers, whose counter is now faster than during calibration: a tick takes
 * fewer ns at the new rate, so readings could go back. */
static struct rvec* open_with_wrong_rate(struct rvec_source* source, struct simulated* machine,
                                         struct rvec_clock* one, struct rvec_clock* other) {
    struct rvec_options options = {0};
    options.source = source;
    options.keep_rate = 1; /* until the refinement of the test */
    struct rvec* rvec = NULL;
    CHECK(rvec_open(&rvec, &options) == RVEC_OK);
    rvec_attach_process(rvec, one);
    rvec_attach_process(rvec, other);
    machine->hz *= 1 + 20e-6;
    for (int i = 0; i < 100; ++i) {
        simulated_pass(machine, 3e7);
        rvec_read(one);
        rvec_read(other);
    }
    return rvec;
}

static void no_reading_lies_between_two_rates(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct interruption interruption = {&machine, NULL, 0, 0, {NULL, NULL, NULL, 0, 0, 0}};
    struct rvec_source source = source_of(&interruption);
    struct rvec_clock one, other;
    struct rvec* rvec = open_with_wrong_rate(&source, &machine, &one, &other);
    struct rvec_facts before, after;
    rvec_info(rvec, &before);
    interruption.reader = &one;
    interruption.countdown = 15; /* after those of the check, before the last of the refinement */
    CHECK(rvec_refine(rvec) == RVEC_OK);
    rvec_info(rvec, &after);
    CHECK(interruption.read > 0 && after.rate_changes > before.rate_changes);
    CHECK(rvec_read(&other) > interruption.read);
    rvec_close(rvec);
}

static void readings_go_on_while_a_new_rate_is_being_set(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct interruption interruption = {&machine, NULL, 0, 0, {NULL, NULL, NULL, 0, 0, 0}};
    struct rvec_source source = source_of(&interruption);
    struct rvec_clock one, other;
    struct rvec* rvec = open_with_wrong_rate(&source, &machine, &one, &other);
    struct preemption* meanwhile = &interruption.meanwhile;
    *meanwhile = (struct preemption){rvec, &one, &other, 0, 0, 0};
    CHECK(rvec_refine(rvec) == RVEC_OK);
    CHECK(meanwhile->first > 0);
    CHECK(meanwhile->second - meanwhile->first >= 999000);
    CHECK(meanwhile->third - meanwhile->second >= 999000);
    CHECK(meanwhile->third - meanwhile->first <= 2100000);
    CHECK(rvec_read(&other) > meanwhile->third);
    rvec_close(rvec);
}

/* A thread reads the counter, and loses its core until a new rate is set and another thread has
 * read the time. The first thread's time must not be earlier than the other's, although no check
 * can be made. */
static void a_reading_from_before_a_new_rate_is_taken_again(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct interruption interruption = {&machine, NULL, 0, 0, {NULL, NULL, NULL, 0, 0, 0}};
    struct rvec_source source = source_of(&interruption);
    struct rvec_clock one, other;
    struct rvec* rvec = open_with_wrong_rate(&source, &machine, &one, &other);
    struct rvec_reading early = simulated_read(&machine);
    CHECK(rvec_refine(rvec) == RVEC_OK);
    rvec_read(&other); /* tells all readers how far it is */
    simulated_pass(&machine, 1e6);
    uint64_t between = rvec_read(&other); /* tells nobody */
    pthread_mutex_lock(&rvec->lock);      /* a check by another thread */
    uint64_t late = rvec_read_update_(&one, early);
    pthread_mutex_unlock(&rvec->lock);
    CHECK(late > between);
    rvec_close(rvec);
}

/* The counter runs at half and at twice its rate, and the clock is informed each time: durations
 * are true, and a check finds no difference. */
static void a_rate_that_is_told_holds_at_once(void) {
    struct simulated machine = simulated_machine(2e9);
    struct rvec_source source = simulated_source(&machine);
    struct rvec_options options = {0};
    options.source = &source;
    struct rvec* rvec = NULL;
    struct rvec_clock clock;
    CHECK(rvec_open(&rvec, &options) == RVEC_OK);
    CHECK(rvec_attach_process(rvec, &clock) == RVEC_OK);
    for (int change = 0; change < 6; ++change) {
        uint64_t before = rvec_read(&clock);
        machine.hz = change % 2 == 0 ? 1e9 : 2e9;
        CHECK(rvec_rate_changed(rvec, machine.hz) == RVEC_OK);
        uint64_t since = rvec_read(&clock);
        CHECK(since > before && since - before < 1000); /* some readings of 20 ns */
        double began = machine.now_ns;
        for (int i = 0; i < 30; ++i) {
            simulated_pass(&machine, 1e8);
            rvec_read(&clock);
        }
        CHECK_NEAR(rvec_read(&clock) - since, machine.now_ns - began, 100);
        enum rvec_verdict verdict;
        CHECK(rvec_check(rvec, &verdict) == RVEC_OK && verdict == RVEC_STEADY);
    }
    struct rvec_facts facts;
    rvec_info(rvec, &facts);
    CHECK(facts.jumps == 0 && facts.rate_changes >= 6);
    CHECK(rvec_rate_changed(rvec, 0) == RVEC_ERROR_ARGUMENT);
    CHECK(rvec_rate_changed(NULL, 1e9) == RVEC_ERROR_ARGUMENT);
    rvec_close(rvec);
}

int main(void) {
    RUN(no_reading_lies_between_two_rates);
    RUN(readings_go_on_while_a_new_rate_is_being_set);
    RUN(a_reading_from_before_a_new_rate_is_taken_again);
    RUN(a_rate_that_is_told_holds_at_once);
    return 0;
}
