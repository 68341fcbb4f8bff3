#include "ocean/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ocean/exact_sum.hpp"

namespace aferir::ocean {
namespace {

/// A tile's share of a sum is estimated to be at most this many times the previous global sum.
constexpr double kGrowth = 1024;
constexpr double kLeastBound = 1e-250;

}  // namespace

Solver::Solver(Messages& messages, Arena& arena, const Couplings& couplings)
    : messages_(messages),
      layout_(messages.layout()),
      couplings_(couplings),
      residual_(arena.take()),
      image_(arena.take()),
      direction_(arena.take()),
      image_of_direction_(arena.take()) {
    const int tiles = (layout_.nx / kTileX) * (layout_.ny / kTileY);
    squares_.resize(static_cast<std::size_t>(tiles));
    products_.resize(squares_.size());
}

void Solver::products(Tiles tiles, std::span<const double> field, std::span<const double> image) {
    tile_products(layout_, tiles, field, image, squares_, products_);
}

void Solver::apply(std::span<double> field, std::span<double> image) {
    const int across = layout_.nx / kTileX;
    const int along = layout_.ny / kTileY;
    const auto one = [&](Tiles tiles) {
        if (tiles.x0 < tiles.x1 && tiles.y0 < tiles.y1) {
            apply_operator(layout_, couplings_, tiles, field, image);
            products(tiles, field, image);
        }
    };
    messages_.start_halo(field);
    for (int y = 1; y < along - 1; ++y) {  // a row of tiles at a time stays in cache for its sums
        one({1, across - 1, y, y + 1});
    }
    messages_.finish_halo(field);
    one({0, across, 0, 1});
    one({0, across, std::max(1, along - 1), along});
    one({0, 1, 1, along - 1});
    one({std::max(1, across - 1), across, 1, along - 1});
}

Solver::Products Solver::summed(double bound) {
    const auto [squares, products] =
        messages_.sums(squares_, products_, std::max(bound, kLeastBound));
    return {squares, products};
}

double Solver::first_residual(std::span<const double> right_side, std::span<double> solution) {
    apply(solution, image_);
    for (int j = 0; j < layout_.ny; ++j) {
        const auto first = static_cast<std::size_t>(layout_.at(0, j));
        for (std::size_t i = first; i < first + static_cast<std::size_t>(layout_.nx); ++i) {
            residual_[i] = right_side[i] - image_[i];
        }
    }
    products({0, layout_.nx / kTileX, 0, layout_.ny / kTileY}, right_side, right_side);
    std::array<double, 1> most{largest(squares_)};
    messages_.reduce(most, MPI_MAX);
    bound_ = most[0];
    return summed(bound_).squares;
}

Solved Solver::solve(Method method, std::span<double> right_side, std::span<double> solution,
                     double tolerance, int most_iterations) {
    const double norm = first_residual(right_side, solution);
    const double goal = tolerance * tolerance * norm;
    Solved solved = method == Method::kClassic ? classic(goal, solution, most_iterations)
                                               : chronopoulos_gear(goal, solution, most_iterations);
    solved.residual = norm > 0 ? std::sqrt(solved.residual / norm) : 0;
    return solved;
}

Solved Solver::classic(double goal, std::span<double> solution, int most_iterations) {
    const Vectors vectors{solution, residual_, image_, direction_, image_of_direction_};
    const Tiles all{0, layout_.nx / kTileX, 0, layout_.ny / kTileY};
    products(all, residual_, residual_);
    double rho = summed(bound_).squares;
    double beta = 0;
    int iteration = 0;
    for (; iteration < most_iterations && rho > goal; ++iteration) {
        advance_direction(layout_, vectors, beta);
        apply(direction_, image_of_direction_);
        const double alpha = rho / summed(kGrowth * rho).products;
        advance_solution(layout_, vectors, alpha);
        products(all, residual_, residual_);
        const double last = rho;
        rho = summed(kGrowth * last).squares;
        beta = rho / last;
    }
    return {iteration, rho, rho <= goal};
}

Solved Solver::chronopoulos_gear(double goal, std::span<double> solution, int most_iterations) {
    const Vectors vectors{solution, residual_, image_, direction_, image_of_direction_};
    double rho = 0;
    double sigma = 0;
    double bound = bound_;
    for (int iteration = 0;; ++iteration) {
        apply(residual_, image_);
        const Products sums = summed(bound);
        if (!(sums.squares > goal) || iteration == most_iterations) {
            return {iteration, sums.squares, sums.squares <= goal};
        }
        const double beta = iteration == 0 ? 0 : sums.squares / rho;
        sigma = sums.products - beta * beta * sigma;
        rho = sums.squares;
        bound = kGrowth * rho;
        advance_both(layout_, vectors, rho / sigma, beta);
    }
}

}  // namespace aferir::ocean
