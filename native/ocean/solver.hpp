#pragma once

#include <span>
#include <vector>

#include "ocean/messages.hpp"
#include "ocean/rows.hpp"

namespace aferir::ocean {

enum class Method {
    /// Preconditioned conjugate gradients, two global sums an iteration.
    kClassic,
    /// Conjugate gradients with one global sum of two numbers an iteration (A. T. Chronopoulos and
    /// C. W. Gear, "s-step iterative methods for symmetric linear systems", J. Comput. Appl. Math.
    /// 25, 1989).
    kChronopoulosGear,
};

struct Solved {
    int iterations = 0;
    double residual = 0;  ///< by the recurrence, relative to the right-hand side
    bool converged = false;
};

/// Conjugate gradients for an operator whose diagonal is all ones. This equals diagonal
/// preconditioning of the operator before it was scaled so.
class Solver {
  public:
    Solver(Messages& messages, Arena& arena, const Couplings& couplings);
    static constexpr int kArrays = 4;

    /// Solves operator * solution = right_side from a first guess in `solution`, including the
    /// neighbours' cells, until the residual's norm is `tolerance` times the right-hand side's.
    Solved solve(Method method, std::span<double> right_side, std::span<double> solution,
                 double tolerance, int most_iterations);

  private:
    struct Products {
        double squares;
        double products;
    };
    /// image = operator * field, while the neighbours' cells are in transit; also the sums over
    /// each tile of this part.
    void apply(std::span<double> field, std::span<double> image);
    void products(Tiles tiles, std::span<const double> field, std::span<const double> image);
    Products summed(double bound);
    double first_residual(std::span<const double> right_side, std::span<double> solution);
    Solved classic(double goal, std::span<double> solution, int most_iterations);
    Solved chronopoulos_gear(double goal, std::span<double> solution, int most_iterations);

    Messages& messages_;
    const Layout& layout_;
    Couplings couplings_;
    std::span<double> residual_;
    std::span<double> image_;
    std::span<double> direction_;
    std::span<double> image_of_direction_;
    std::vector<double> squares_;
    std::vector<double> products_;
    double bound_ = 1;
};

}  // namespace aferir::ocean
