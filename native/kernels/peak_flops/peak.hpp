#pragma once

#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "peak_flops/multiply_add.hpp"

namespace aferir {

/// Peak rate of one instruction-set level.
struct Peak {
    std::string_view isa;
    double flops = 0;         ///< operations a second of the best round; a fused one counts as two
    double median_flops = 0;  ///< of the median round
    double error = 0;         ///< relative, of the worst value
};

/// Measures all threads together, in so many rounds of about 1 ms.
Peak measure_peak(std::string_view isa, peak::MultiplyAdd* multiply_add, int threads, int rounds);

/// Whether every value agrees with its formula.
bool is_verified(const Peak& peak);

/// The whole program except `main`; returns the exit code.
int peak_flops(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir
