/* What tests of readers on a simulated counter share. */
#pragma once

#include "check.h"
#include "rvec_private.h"
#include "simulated_counter.h"

static inline struct rvec* open_on(struct rvec_source* source) {
    struct rvec_options options = {0};
    options.source = source;
    struct rvec* rvec = NULL;
    CHECK(rvec_open(&rvec, &options) == RVEC_OK);
    return rvec;
}

static inline double true_ns(const struct simulated* machine) {
    return machine->now_ns + machine->suspended_ns;
}

/* Gives each core but the first a counter offset, and tells the reader of it. */
static inline void set_offsets(struct rvec* rvec, struct simulated* machine) {
    for (uint32_t i = 1; i < SIMULATED_CORES; ++i) {
        machine->offset[i] = 1000000 * ((int64_t)i - 2) + 77;
        rvec_timeline_set_offset(&rvec->timeline, i, machine->offset[i]);
        rvec->applied[i] = machine->offset[i];
    }
}
