#pragma once

#include <cstddef>
#include <span>

#include "ocean/grid.hpp"

namespace aferir::ocean {

/// The symmetric operator of one part, with a diagonal of ones: coefficients between a cell and its
/// eastern and northern neighbours, as positive numbers. (Scaled by the square roots of its
/// diagonal, an operator needs no diagonal preconditioner.)
struct Couplings {
    std::span<const double> east;
    std::span<const double> north;
};

/// A rectangle of whole tiles of a part; ends are exclusive.
struct Tiles {
    int x0 = 0;
    int x1 = 0;
    int y0 = 0;
    int y1 = 0;
};

/// image = operator * field in `tiles`; the neighbours' cells must have been received.
void apply_operator(const Layout& layout, const Couplings& couplings, Tiles tiles,
                    std::span<const double> field, std::span<double> image);

/// Sums over each tile, into one number a tile (row by row): field^2 and field * image.
void tile_products(const Layout& layout, Tiles tiles, std::span<const double> field,
                   std::span<const double> image, std::span<double> squares,
                   std::span<double> products);

/// direction = residual + beta * direction; image_of_direction likewise from image;
/// solution += alpha * direction; residual -= alpha * image_of_direction.
struct Vectors {
    std::span<double> solution;
    std::span<double> residual;
    std::span<double> image;
    std::span<double> direction;
    std::span<double> image_of_direction;
};

void advance_both(const Layout& layout, const Vectors& vectors, double alpha, double beta);

/// direction = residual + beta * direction.
void advance_direction(const Layout& layout, const Vectors& vectors, double beta);

/// solution += alpha * direction; residual -= alpha * image_of_direction.
void advance_solution(const Layout& layout, const Vectors& vectors, double alpha);

}  // namespace aferir::ocean
