/* Stability of a clock against another, from their difference over time. Pure functions. */
#ifndef AFERIR_CLOCK_ALLAN_H
#define AFERIR_CLOCK_ALLAN_H

#include <stddef.h>

/* Overlapping Allan deviation (IEEE Std 1139-2008, eq. A.6; Riley, NIST SP 1065, 5.2.4) of `count`
 * differences in seconds, `step_s` apart, at tau = m * step_s. Without unit; NaN if 2m >= count.
 */
double allan_deviation(const double* difference_s, size_t count, double step_s, size_t m);

/* Values at 0, step, 2 step ... by straight lines between points whose `at` ascends; a grid point
 * beyond the last one gets its value. */
void allan_regular(const double* at, const double* values, size_t count, double step,
                   double* regular, size_t regular_count);

/* Slope of the straight line of least squares through the points; 0 of fewer than two. */
double allan_slope(const double* at, const double* values, size_t count);

#endif
