/* Stability of a clock against another, from their difference over time. Pure functions. */
#ifndef AFERIR_CLOCK_ALLAN_H
#define AFERIR_CLOCK_ALLAN_H

#include <stddef.h>

/* Overlapping Allan deviation (IEEE Std 1139-2008, eq. A.6; Riley, NIST SP 1065, 5.2.4) at tau = m
 * * step_s, without unit, from `count` differences of two clocks in seconds, taken every `step_s`.
 * NaN if 2m >= count. */
double allan_deviation(const double* difference_s, size_t count, double step_s, size_t m);

/* Interpolates values linearly at at[0], at[0] + step, ...; `at` ascends. Grid points beyond the
 * last one get its value. */
void allan_regular(const double* at, const double* values, size_t count, double step,
                   double* regular, size_t regular_count);

/* Slope of the least-squares line through the points; 0 for fewer than two points. */
double allan_slope(const double* at, const double* values, size_t count);

#endif
