/* A new rate while readers go on: no reading may lie between the old rate and the new one. */
#include "check.h"
#include "rvec_private.h"
#include "simulated_counter.h"

/* A thread reads at the old rate while another, that has looked at the reference clock, is kept
 * from its core before it can set the new rate. */
struct interruption {
    struct simulated* machine;
    struct rvec_clock* reader;
    int countdown; /* looks at the reference until the interruption; 0: none */
    uint64_t read;
};

static uint64_t reference_with_interruption(void* context) {
    struct interruption* interruption = context;
    if (interruption->countdown > 0 && --interruption->countdown == 0) {
        simulated_pass(interruption->machine, 5e7);
        interruption->read = rvec_read(interruption->reader);
    }
    return simulated_reference(interruption->machine);
}

static struct rvec_reading read_machine(void* context) {
    return simulated_read(((struct interruption*)context)->machine);
}
static uint64_t suspended_of_machine(void* context) {
    return simulated_suspended(((struct interruption*)context)->machine);
}
static void nap_of_machine(void* context, uint64_t ns) {
    simulated_nap(((struct interruption*)context)->machine, ns);
}

static void no_reading_lies_between_two_rates(void) {
    struct simulated machine = simulated_machine(2.5e9);
    struct interruption interruption = {&machine, NULL, 0, 0};
    struct rvec_source source = {&interruption,        read_machine,   reference_with_interruption,
                                 suspended_of_machine, nap_of_machine, 0,
                                 SIMULATED_CORES};
    struct rvec_options options = {0};
    options.source = &source;
    options.keep_rate = 1; /* until the refinement below */
    struct rvec* rvec = NULL;
    CHECK(rvec_open(&rvec, &options) == RVEC_OK);
    struct rvec_clock one, other;
    rvec_attach_process(rvec, &one);
    rvec_attach_process(rvec, &other);
    machine.hz *= 1 + 20e-6; /* fewer ns a tick at the new rate: readings could go back */
    for (int i = 0; i < 100; ++i) {
        simulated_pass(&machine, 3e7);
        rvec_read(&one);
        rvec_read(&other);
    }
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

int main(void) {
    RUN(no_reading_lies_between_two_rates);
    return 0;
}
