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
 * `resolution_s`. A rate is found where the phases of the events at that rate are concentrated
 * by more than one half and beyond chance (Rayleigh's test at 10^-6 over all rates tried; events
 * of one beat count once), and at least half of its beats were seen: bursts at odd moments are
 * no beat. It takes some 25 beats or more. Rates up to one in four times the resolution are
 * tried, and the lowest of a rate and its multiples is taken. */
struct beat beat_find(const double* at_s, size_t count, double length_s, double resolution_s);

#endif
