#include "allan.h"

#include <math.h>

double allan_deviation(const double* difference_s, size_t count, double step_s, size_t m) {
    if (m == 0 || 2 * m >= count) {
        return NAN;
    }
    double sum = 0, tau = (double)m * step_s;
    size_t terms = count - 2 * m;
    for (size_t i = 0; i < terms; ++i) {
        const double* x = difference_s + i;
        double bend = x[2 * m] - 2 * x[m] + x[0];
        sum += bend * bend;
    }
    return sqrt(sum / (2 * tau * tau * (double)terms));
}

void allan_regular(const double* at, const double* values, size_t count, double step,
                   double* regular, size_t regular_count) {
    size_t next = 1;
    for (size_t i = 0; i < regular_count; ++i) {
        double wanted = at[0] + (double)i * step;
        while (next + 1 < count && at[next] < wanted) {
            ++next;
        }
        if (count < 2 || wanted >= at[count - 1]) {
            regular[i] = values[count - 1];
            continue;
        }
        double part = (wanted - at[next - 1]) / (at[next] - at[next - 1]);
        regular[i] = values[next - 1] + part * (values[next] - values[next - 1]);
    }
}

double allan_slope(const double* at, const double* values, size_t count) {
    double mean_at = 0, mean = 0, above = 0, below = 0;
    for (size_t i = 0; i < count; ++i) {
        mean_at += at[i] / (double)count;
        mean += values[i] / (double)count;
    }
    for (size_t i = 0; i < count; ++i) {
        above += (at[i] - mean_at) * (values[i] - mean);
        below += (at[i] - mean_at) * (at[i] - mean_at);
    }
    return below > 0 ? above / below : 0;
}
