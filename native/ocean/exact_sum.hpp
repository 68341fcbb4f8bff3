#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace aferir::ocean {

/// Cuts terms so that a sum's bits do not depend on their order or grouping, as long as no term is
/// larger than a bound known to all (J. Demmel and H. D. Nguyen, "Parallel reproducible summation",
/// IEEE Trans. Comput. 64(7), 2015). Each term is cut at two fixed powers of two, and the two
/// pieces are added up without rounding.
class Cut {
  public:
    /// A cut for at most `terms` terms, each at most `bound` (> 0) in magnitude.
    Cut(double bound, std::size_t terms);

    /// Partial sums that may be added in any order.
    struct Parts {
        double high = 0;
        double low = 0;
        double beyond = 0;  ///< number of terms larger than the bound
    };

    [[nodiscard]] Parts add(std::span<const double> terms) const;

    /// The sum, with an error of about 2^-50 of the bound.
    static double sum(const Parts& parts) { return parts.high + parts.low; }

  private:
    double bound_;
    double first_;
    double second_;
};

/// Largest magnitude; 0 if there are no terms.
double largest(std::span<const double> terms);

}  // namespace aferir::ocean
