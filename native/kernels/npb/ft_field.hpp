#pragma once

// The two fields of FT. Every array is made of tiles (npb/fft.hpp):
//
//   spectrum  [x block][y][z]  lanes: kLanes neighbours in x. The z pencils, read once per step,
//                              are contiguous.
//   work      [z][x block][y]  lanes: kLanes neighbours in x. A plane fits into a core's cache, and
//                              its y pencils are contiguous.
//   "turned"  a work plane in which each square of kLanes x kLanes tiles is transposed: the tile at
//             [x / kLanes][y - y % kLanes + x % kLanes] holds x and kLanes neighbours in y.
//
// A step reads the spectrum once, and reads and writes the work field twice.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "npb/fft.hpp"
#include "npb/random.hpp"

namespace aferir::npb::AFERIR_ISA {

struct Grid {
    int nx;
    int ny;
    int nz;

    [[nodiscard]] constexpr std::size_t points() const {
        return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) *
               static_cast<std::size_t>(nz);
    }
    [[nodiscard]] int blocks() const { return nx / static_cast<int>(kLanes); }
    /// Doubles from one work plane to the next; a tile of padding keeps a column of planes out of
    /// one cache set.
    [[nodiscard]] std::size_t plane() const {
        return 2 * static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) + kTile;
    }
    /// Doubles in the y pencil of one x block.
    [[nodiscard]] std::size_t column() const { return static_cast<std::size_t>(ny) * kTile; }
};

inline std::size_t field_bytes(const Grid& grid) {
    return (2 * grid.points() + grid.plane() * static_cast<std::size_t>(grid.nz)) * sizeof(double);
}

/// Decay of each wave number of one axis within `steps` time steps; the decay of a mode is the
/// product of its three (alpha = 1e-6, RNR-94-007 section 2.6).
inline std::vector<double> decay(int length, int steps) {
    constexpr double kAlpha = 1e-6;
    constexpr double kRate = -4 * kAlpha * std::numbers::pi * std::numbers::pi;
    std::vector<double> factors;
    for (int i = 0; i < length; ++i) {
        const int wave = (i + length / 2) % length - length / 2;
        factors.push_back(std::exp(kRate * wave * wave * steps));
    }
    return factors;
}

/// The tables of one axis.
struct Axis {
    explicit Axis(int length) : table(twiddles(length)) {}
    std::vector<Twiddle> table;
};

struct Axes {
    explicit Axes(const Grid& grid) : x(grid.nx), y(grid.ny), z(grid.nz) {}
    Axis x;
    Axis y;
    Axis z;
};

/// Decay factors of one step.
struct Decays {
    Decays(const Grid& grid, int steps)
        : x(decay(grid.nx, steps)), y(decay(grid.ny, steps)), z(decay(grid.nz, steps)) {}
    /// Decay of pencil `index` (of all x blocks and y) along x and y; the factor of z is still
    /// missing.
    [[nodiscard]] Vector along_xy(std::size_t index) const {
        const auto ny = y.size();
        return load(x.data() + index / ny * kLanes) * y[index % ny];
    }

    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> z;
};

inline constexpr int kChecksumPoints = 1024;

/// The plane of point j = 1, 2, ... of the checksum.
inline int checksum_plane(const Grid& grid, int j) { return 5 * j % grid.nz; }

/// The real part of point j in its turned plane; the imaginary part is kLanes further.
inline const double* checksum_point(const Grid& grid, int j, const double* plane) {
    const int x = j % grid.nx;
    const int y = 3 * j % grid.ny;
    const std::ptrdiff_t tile = x / kLanes * grid.ny + y / kLanes * kLanes + x % kLanes;
    return plane + static_cast<std::size_t>(tile) * kTile + y % kLanes;
}

/// Seed of the initial state of plane z.
inline std::uint64_t plane_seed(const Grid& grid, int z) {
    constexpr std::uint64_t kFirst = 314159265;
    return lcg_skip(kFirst, static_cast<std::uint64_t>(std::int64_t{2} * grid.nx * grid.ny * z));
}

inline constexpr std::array<Grid, 6> kFtGrids{{{64, 64, 64},
                                               {128, 128, 32},
                                               {256, 256, 128},
                                               {512, 256, 256},
                                               {512, 512, 512},
                                               {2048, 1024, 1024}}};
/// Whether a work field of so many points leaves the caches between writing and reading, so that it
/// is streamed.
constexpr bool streams(std::size_t points) { return 16 * points > std::size_t{32} << 20U; }

/// Floating-point operations as NPB counts them; the logarithms are natural ones.
inline double ft_operations(const Grid& grid, int iterations) {
    const auto points = static_cast<double>(grid.points());
    const double logarithm = std::log(points);
    return points * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations);
}

}  // namespace aferir::npb::AFERIR_ISA
