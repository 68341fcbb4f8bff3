#include "ocean/rows.hpp"

#include <array>
#include <cstring>

// Compiled for each instruction-set level; the copy is chosen when the program starts. None fuses
// multiplications with additions (-ffp-contract=off), so all give the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define AFERIR_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define AFERIR_CLONES
#endif

namespace aferir::ocean {
namespace {

constexpr int kLanes = 8;

/// Eight numbers side by side: the order in which a tile is summed, whatever the processor.
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

inline void load(Lanes& lanes, const double* source) { std::memcpy(&lanes, source, sizeof lanes); }

inline void store(double* target, const Lanes& lanes) { std::memcpy(target, &lanes, sizeof lanes); }

inline double total(const Lanes& lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

AFERIR_CLONES
void apply_operator(const Layout& layout, const Couplings& couplings, Tiles tiles,
                    std::span<const double> field, std::span<double> image) {
    const std::ptrdiff_t stride = layout.stride;
    for (int j = tiles.y0 * kTileY; j < tiles.y1 * kTileY; ++j) {
        const double* const f = field.data() + layout.at(0, j);
        const double* const e = couplings.east.data() + layout.at(0, j);
        const double* const n = couplings.north.data() + layout.at(0, j);
        double* const out = image.data() + layout.at(0, j);
        for (int i = tiles.x0 * kTileX; i < tiles.x1 * kTileX; i += kLanes) {
            Lanes own;
            Lanes east;
            Lanes west;
            Lanes north;
            Lanes south;
            Lanes to_east;
            Lanes to_west;
            Lanes to_north;
            Lanes to_south;
            load(own, f + i);
            load(east, f + i + 1);
            load(west, f + i - 1);
            load(north, f + i + stride);
            load(south, f + i - stride);
            load(to_east, e + i);
            load(to_west, e + i - 1);
            load(to_north, n + i);
            load(to_south, n + i - stride);
            store(out + i, own - ((to_east * east + to_west * west) +
                                  (to_north * north + to_south * south)));
        }
    }
}

AFERIR_CLONES
void tile_products(const Layout& layout, Tiles tiles, std::span<const double> field,
                   std::span<const double> image, std::span<double> squares,
                   std::span<double> products) {
    const int across = layout.nx / kTileX;
    for (int y = tiles.y0; y < tiles.y1; ++y) {
        for (int x = tiles.x0; x < tiles.x1; ++x) {
            Lanes square{};
            Lanes product{};
            for (int row = 0; row < kTileY; ++row) {
                const std::ptrdiff_t first = layout.at(x * kTileX, y * kTileY + row);
                for (int i = 0; i < kTileX; i += kLanes) {
                    Lanes f;
                    Lanes w;
                    load(f, field.data() + first + i);
                    load(w, image.data() + first + i);
                    square += f * f;
                    product += f * w;
                }
            }
            const auto tile = static_cast<std::size_t>(y * across + x);
            squares[tile] = total(square);
            products[tile] = total(product);
        }
    }
}

AFERIR_CLONES
void advance_both(const Layout& layout, const Vectors& vectors, double alpha, double beta) {
    for (int j = 0; j < layout.ny; ++j) {
        const std::ptrdiff_t first = layout.at(0, j);
        double* const x = vectors.solution.data() + first;
        double* const r = vectors.residual.data() + first;
        const double* const w = vectors.image.data() + first;
        double* const p = vectors.direction.data() + first;
        double* const q = vectors.image_of_direction.data() + first;
        for (int i = 0; i < layout.nx; i += kLanes) {
            Lanes solution;
            Lanes residual;
            Lanes image;
            Lanes direction;
            Lanes moved;
            load(solution, x + i);
            load(residual, r + i);
            load(image, w + i);
            load(direction, p + i);
            load(moved, q + i);
            direction = residual + beta * direction;
            moved = image + beta * moved;
            store(p + i, direction);
            store(q + i, moved);
            store(x + i, solution + alpha * direction);
            store(r + i, residual - alpha * moved);
        }
    }
}

AFERIR_CLONES
void advance_direction(const Layout& layout, const Vectors& vectors, double beta) {
    for (int j = 0; j < layout.ny; ++j) {
        const std::ptrdiff_t first = layout.at(0, j);
        const double* const r = vectors.residual.data() + first;
        double* const p = vectors.direction.data() + first;
        for (int i = 0; i < layout.nx; i += kLanes) {
            Lanes residual;
            Lanes direction;
            load(residual, r + i);
            load(direction, p + i);
            store(p + i, residual + beta * direction);
        }
    }
}

AFERIR_CLONES
void advance_solution(const Layout& layout, const Vectors& vectors, double alpha) {
    for (int j = 0; j < layout.ny; ++j) {
        const std::ptrdiff_t first = layout.at(0, j);
        double* const x = vectors.solution.data() + first;
        double* const r = vectors.residual.data() + first;
        const double* const p = vectors.direction.data() + first;
        const double* const q = vectors.image_of_direction.data() + first;
        for (int i = 0; i < layout.nx; i += kLanes) {
            Lanes solution;
            Lanes residual;
            Lanes direction;
            Lanes moved;
            load(solution, x + i);
            load(residual, r + i);
            load(direction, p + i);
            load(moved, q + i);
            store(x + i, solution + alpha * direction);
            store(r + i, residual - alpha * moved);
        }
    }
}

}  // namespace aferir::ocean
