/* A machine in simulated time: counters that drift, differ between cores, jump and stop. */
#ifndef AFERIR_TESTS_SIMULATED_COUNTER_H
#define AFERIR_TESTS_SIMULATED_COUNTER_H

#include <math.h>
#include <string.h>

#include "aferir/rvec.h"

enum { SIMULATED_CORES = 4 };

struct simulated {
    double now_ns; /* true time awake */
    double suspended_ns;
    double hz;
    double counter; /* of core 0, since `base` */
    uint64_t base;  /* wraps like a real one */
    int64_t offset[SIMULATED_CORES];
    uint32_t core;
    double read_ns; /* what one reading of anything takes */
};

static inline void simulated_pass(struct simulated* machine, double ns) {
    machine->now_ns += ns;
    machine->counter += ns * machine->hz / 1e9;
}

static inline struct rvec_reading simulated_read(void* context) {
    struct simulated* machine = context;
    simulated_pass(machine, machine->read_ns);
    struct rvec_reading reading;
    reading.counter = machine->base + (uint64_t)(int64_t)floor(machine->counter) +
                      (uint64_t)machine->offset[machine->core];
    reading.core = machine->core;
    return reading;
}

static inline uint64_t simulated_reference(void* context) {
    struct simulated* machine = context;
    simulated_pass(machine, machine->read_ns);
    return (uint64_t)machine->now_ns;
}

static inline uint64_t simulated_suspended(void* context) {
    return (uint64_t)((struct simulated*)context)->suspended_ns;
}

static inline void simulated_nap(void* context, uint64_t ns) {
    simulated_pass(context, (double)ns);
}

static inline struct simulated simulated_machine(double hz) {
    struct simulated machine;
    memset(&machine, 0, sizeof(machine));
    machine.hz = hz;
    machine.now_ns = 1e12;
    machine.base = 123456789012345U;
    machine.read_ns = 20;
    return machine;
}

static inline struct rvec_source simulated_source(struct simulated* machine) {
    struct rvec_source source = {
        machine, simulated_read, simulated_reference, simulated_suspended, simulated_nap,
        0,       SIMULATED_CORES};
    return source;
}

#endif
