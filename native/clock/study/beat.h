/* Finding a beat, i.e. something that disturbs at a steady rate, among interruptions. Pure. */
#ifndef AFERIR_CLOCK_BEAT_H
#define AFERIR_CLOCK_BEAT_H

#include <stddef.h>

struct beat {
    double rate_hz;  /* 0: none */
    double strength; /* mean resultant length of the phases, 0 to 1 (Mardia and Jupp 2000, 2.3) */
    double share;    /* of the beats of that rate, those at which an interruption was seen */
};

/* Finds the beat of events at `at_s` (ascending) during `length_s`, each known to within
 * `resolution_s`. It has to fulfil three conditions: the phases of the events at its rate are
 * concentrated by more than one half; chance is excluded (Rayleigh's test at 10^-6 over all rates
 * tried; events of one beat count once); and at least half of its beats have an event, since bursts
 * at odd moments are no beat. About 25 beats or more are needed. Rates are tried up to 1 / (4
 * resolution_s); of a rate and its multiples, the lowest is taken. */
struct beat beat_find(const double* at_s, size_t count, double length_s, double resolution_s);

#endif
