#include "ocean/exact_sum.hpp"

#include <algorithm>
#include <cmath>

namespace aferir::ocean {
namespace {

constexpr int kDigits = 53;

}  // namespace

// 1.5 * 2^k plus anything below 2^(k-1) keeps the exponent k, so a term is rounded to a multiple of
// 2^(k-52); fewer than 2^51 such multiples add up without rounding.
Cut::Cut(double bound, std::size_t terms) : bound_(bound) {
    const int room = std::ilogb(static_cast<double>(std::max<std::size_t>(terms, 1))) + 2;
    const int first = std::ilogb(bound) + 1 + room;
    const int second = first - (kDigits - 1) + room;
    first_ = std::ldexp(1.5, first);
    second_ = std::ldexp(1.5, second);
}

Cut::Parts Cut::add(std::span<const double> terms) const {
    Parts parts;
    for (const double term : terms) {
        const double high = (first_ + term) - first_;
        parts.high += high;
        parts.low += (second_ + (term - high)) - second_;
        parts.beyond += std::abs(term) <= bound_ ? 0 : 1;
    }
    return parts;
}

double largest(std::span<const double> terms) {
    double most = 0;
    for (const double term : terms) {
        most = std::max(most, std::abs(term));
    }
    return most;
}

}  // namespace aferir::ocean
