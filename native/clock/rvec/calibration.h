/* The counter's rate against the reference clock, with the interval that must hold it. */
#ifndef AFERIR_CLOCK_CALIBRATION_H
#define AFERIR_CLOCK_CALIBRATION_H

#include "judge.h"

struct calibration {
    double ns_per_tick;
    double uncertainty_ppb;
    struct witness first;
    struct witness last;
};

/* Returns the narrowest of `tries` brackets. Readings of other cores than the first are
 * converted to its scale by `offsets` (may be NULL). */
struct witness rvec_calibration_look(const struct rvec_source* source, const int64_t* offsets,
                                     int tries);

/* Fits a line through looks spread over `duration_ns`; RVEC_OK or RVEC_ERROR_CALIBRATION. */
int rvec_calibration_run(const struct rvec_source* source, uint64_t duration_ns,
                         struct calibration* out);

/* The rate between two looks. */
int rvec_calibration_between(const struct witness* first, const struct witness* last,
                             struct calibration* out);

/* Least-squares slope of reference over counter, both relative to the first look. */
double rvec_calibration_slope(const struct witness* looks, int count);

#endif
