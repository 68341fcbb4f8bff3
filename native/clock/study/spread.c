#include "spread.h"

#include <math.h>

void spread_add(struct spread* spread, double value) {
    double before = value - spread->mean;
    spread->count += 1;
    spread->mean += before / (double)spread->count;
    spread->squares += before * (value - spread->mean);
}

double spread_sd(const struct spread* spread) {
    return spread->count < 2 ? 0 : sqrt(spread->squares / (double)(spread->count - 1));
}

/* Quantile 0.9995 of Student's t from that of the normal distribution (Abramowitz and Stegun
 * 26.7.5): correct to 0.1 % from 9 degrees of freedom on. */
static double student_9995(double freedom) {
    const double z = 3.290526731491926, s = z * z;
    double first = z * (s + 1) / 4;
    double second = z * ((5 * s + 16) * s + 3) / 96;
    double third = z * (((3 * s + 19) * s + 17) * s - 15) / 384;
    double fourth = z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160;
    return z + (first + (second + (third + fourth / freedom) / freedom) / freedom) / freedom;
}

double spread_half_width_999(const struct spread* spread) {
    if (spread->count < 10) {
        return NAN;
    }
    double freedom = (double)(spread->count - 1);
    return student_9995(freedom) * spread_sd(spread) / sqrt((double)spread->count);
}
