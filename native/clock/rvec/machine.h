/* This machine as a source: its counter, its reference clocks, and whether they can be trusted. */
#ifndef AFERIR_CLOCK_MACHINE_H
#define AFERIR_CLOCK_MACHINE_H

#include "aferir/rvec.h"

/* The hardware counter; `invariance` says how far it can be trusted. */
enum rvec_invariance rvec_machine_invariance(void);
struct rvec_source rvec_machine_counter(void);
const char* rvec_machine_counter_name(void);

/* CLOCK_MONOTONIC in place of a counter: one tick is one nanosecond. */
struct rvec_source rvec_machine_fallback(void);

/* Judges the processor's claim by the kernel's list and choice of clock sources; pure. */
enum rvec_invariance rvec_machine_judge_sources(int claimed, const char* current,
                                                const char* available, const char* name);

#endif
