#include "lbm/blocking_check.hpp"

#include <algorithm>
#include <cmath>

#include "lbm/random.hpp"

namespace aferir::lbm {
namespace {

/// Length of the interval around 0 from which populations are drawn.
constexpr double kSpan = 1e-3;
/// Even, and no multiple of a block's steps, so that some steps run unblocked.
constexpr int kBlockedSteps = 10;

void randomise(const Solver& solver) {
    const auto f = solver.populations();
    const auto stride = solver.cells().stride;
#pragma omp parallel for num_threads(solver.work().threads) schedule(static)
    for (std::size_t cell = 0; cell < solver.cells().count; ++cell) {
        Random random(cell);
        for (std::size_t q = 0; q < kDirections; ++q) {
            f[q * stride + cell] = kSpan * (random.uniform() - 0.5);
        }
    }
}

/// For each row, the sum of its populations, each multiplied by its own random weight below 1.
std::vector<double> sums_of_rows(const Solver& solver) {
    const auto& cells = solver.cells();
    const auto f = solver.populations();
    std::vector<double> sums(cells.row_cells.size() - 1);
#pragma omp parallel for num_threads(solver.work().threads) schedule(static)
    for (std::size_t row = 0; row < sums.size(); ++row) {
        Random random(row);
        for (std::size_t q = 0; q < kDirections; ++q) {
            for (auto cell = cells.row_cells[row]; cell < cells.row_cells[row + 1]; ++cell) {
                sums[row] += (random.uniform() - 0.5) * f[q * cells.stride + cell];
            }
        }
    }
    return sums;
}

std::vector<double> advanced(Solver& solver) {
    randomise(solver);
    solver.advance(kBlockedSteps);
    return sums_of_rows(solver);
}

}  // namespace

BlockingCheck::BlockingCheck(const Geometry& geometry, const Physics& physics,
                             const Execution& execution, const World& world)
    : world_(world) {
    auto plain = execution;
    plain.threads = 1;
    plain.block_steps = 1;
    Solver solver(geometry, physics, plain, world);
    expected_ = advanced(solver);
}

double BlockingCheck::error_of(Solver& timed) const {
    const auto found = advanced(timed);
    timed.rest();
    double largest = 0;
    for (std::size_t row = 0; row < expected_.size(); ++row) {
        const double error = std::abs(found[row] - expected_[row]);
        largest = std::isfinite(error) ? std::max(largest, error) : HUGE_VAL;
    }
    return world_.largest(largest) / kSpan;
}

}  // namespace aferir::lbm
