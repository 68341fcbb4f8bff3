/* Mean, standard deviation and confidence interval of values that come one by one. */
#ifndef AFERIR_CLOCK_SPREAD_H
#define AFERIR_CLOCK_SPREAD_H

#include <stdint.h>

/* Mean and variance by Welford's method, which avoids sums of squares and their cancellation. */
struct spread {
    uint64_t count;
    double mean;
    double squares; /* of the differences from the mean */
};

void spread_add(struct spread* spread, double value);
/* Sample standard deviation; 0 for fewer than two values. */
double spread_sd(const struct spread* spread);
/* Half-width of the 99.9 % confidence interval of the mean by Student's t; needs 10 values, and is
 * NaN with fewer. */
double spread_half_width_999(const struct spread* spread);

#endif
