#pragma once

// The two fields of FT and the passes over them. Every array is made of tiles (npb/fft.hpp):
//
//   spectrum  [x block][y][z]  lanes: kLanes neighbours in x. The z pencils, read once per step,
//                              are contiguous.
//   work      [z][x block][y]  lanes: kLanes neighbours in x. A plane fits into a core's cache, and
//                              its y pencils are contiguous.
//   "turned"  a work plane in which each square of kLanes x kLanes tiles is transposed: the tile at
//             [x / kLanes][y - y % kLanes + x % kLanes] holds x and kLanes neighbours in y.
//
// A step reads the spectrum once, and reads and writes the work field twice.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/memory.hpp"
#include "npb/fft.hpp"
#include "npb/random.hpp"

namespace aferir::npb::AFERIR_ISA {

struct Grid {
    int nx;
    int ny;
    int nz;

    [[nodiscard]] std::size_t points() const {
        return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) *
               static_cast<std::size_t>(nz);
    }
    [[nodiscard]] int blocks() const { return nx / kLanes; }
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

/// kLanes rows of the initial state at once, lane i from the row of seed i.
class RowGenerator {
  public:
    RowGenerator(std::uint64_t seed, int nx)
        : skip_(lcg_power(kMultiplier, static_cast<std::uint64_t>(2 * nx * (kLanes - 1)))) {
        for (int lane = 0; lane < kLanes; ++lane) {
            state_[lane] = lcg_skip(seed, static_cast<std::uint64_t>(2 * nx * lane + 1)) << kShift;
        }
    }

    /// Writes nx tiles, then moves on to the next kLanes rows.
    void fill(int nx, double* tiles) {
        for (int x = 0; x < nx; ++x, tiles += kTile) {
            const Vector re = next();
            store_tile(tiles, {re, next()});
        }
        state_ *= skip_;
    }

  private:
    // 46 random bits in the upper part of a word, where the modulus is the word's own wrap-around.
    static constexpr unsigned kShift = 64 - 46;

    Vector next() {
        constexpr std::uint64_t kOne = 0x3FF0000000000000;
        const Vector number = as_vector((state_ >> 12) | kOne) - 1.0;
        state_ *= kMultiplier;
        return number;
    }

    Words state_{};
    std::uint64_t skip_;
};

inline void stream_tile(double* tile, const Complex& value) {
#if defined(__AVX512F__)
    _mm512_stream_pd(tile, value.re);
    _mm512_stream_pd(tile + kLanes, value.im);
#elif defined(__AVX2__)
    _mm256_stream_pd(tile, value.re);
    _mm256_stream_pd(tile + kLanes, value.im);
#elif defined(__SSE2__)
    _mm_stream_pd(tile, value.re);
    _mm_stream_pd(tile + kLanes, value.im);
#else
    store_tile(tile, value);
#endif
}

/// Makes streamed stores visible before a barrier that does not know of them.
inline void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/// Initial state of plane z, transformed along x: a turned plane.
template <int Nx>
void generate_x(const Grid& grid, const Axis& axis, std::uint64_t seed, double* plane,
                double* scratch) {
    RowGenerator rows(seed, Nx);
    const auto column = grid.column();
    for (int y = 0; y < grid.ny; y += kLanes) {
        rows.fill(Nx, scratch);
        double* const target = plane + static_cast<std::size_t>(y) * kTile;
        fft<Nx, Direction::kForward>(
            axis.table,
            [&](int x) { return load_tile(scratch + static_cast<std::size_t>(x) * kTile); },
            [&](int x, const Complex& value) {
                store_tile(target + static_cast<std::size_t>(x / kLanes) * column +
                               static_cast<std::size_t>(x % kLanes) * kTile,
                           value);
            });
    }
}

/// Forward transform along y; turned plane in, straight plane out.
template <int Ny>
void forward_y(const Grid& grid, const Axis& axis, double* plane, double* scratch) {
    for (int block = 0; block < grid.blocks(); ++block) {
        double* const pencil = plane + static_cast<std::size_t>(block) * grid.column();
        for (std::size_t tile = 0; tile < grid.column(); tile += kLanes * kTile) {
            transpose_tiles(pencil + tile, scratch + tile);
        }
        fft<Ny, Direction::kForward>(
            axis.table,
            [&](int y) { return load_tile(scratch + static_cast<std::size_t>(y) * kTile); },
            [&](int y, const Complex& value) {
                store_tile(pencil + static_cast<std::size_t>(y) * kTile, value);
            });
    }
}

/// Forward transform along z of the y pencil `index`: work in, spectrum out.
template <int Nz>
void forward_z(const Grid& grid, const Axis& axis, const double* work, double* spectrum,
               std::size_t index) {
    const double* const source = work + index * kTile;
    double* const target = spectrum + index * Nz * kTile;
    const auto plane = grid.plane();
    fft<Nz, Direction::kForward>(
        axis.table,
        [&](int z) {
            const double* const tile = source + static_cast<std::size_t>(z) * plane;
            // The next pencil's tile: more planes than the hardware follows.
            __builtin_prefetch(tile + kTile);
            __builtin_prefetch(tile + kTile + kLanes);
            return load_tile(tile);
        },
        [&](int z, const Complex& value) {
            store_tile(target + static_cast<std::size_t>(z) * kTile, value);
        });
}

/// Decay factors of one step.
struct Decays {
    Decays(const Grid& grid, int steps)
        : x(decay(grid.nx, steps)), y(decay(grid.ny, steps)), z(decay(grid.nz, steps)) {}
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> z;
};

/// Evolves the z pencil `index` of the spectrum and transforms it back along z into the work field.
template <int Nz, bool streaming>
void evolve_z(const Grid& grid, const Axis& axis, const Decays& decays, const double* spectrum,
              double* work, std::size_t index) {
    const auto ny = static_cast<std::size_t>(grid.ny);
    const Vector along_xy = load(decays.x.data() + index / ny * kLanes) * decays.y[index % ny];
    const double* const source = spectrum + index * Nz * kTile;
    double* const target = work + index * kTile;
    const auto plane = grid.plane();
    fft<Nz, Direction::kInverse>(
        axis.table,
        [&](int z) {
            const Vector factor = along_xy * decays.z[static_cast<std::size_t>(z)];
            const Complex value = load_tile(source + static_cast<std::size_t>(z) * kTile);
            return Complex{value.re * factor, value.im * factor};
        },
        [&](int z, const Complex& value) {
            double* const tile = target + static_cast<std::size_t>(z) * plane;
            if constexpr (streaming) {
                stream_tile(tile, value);
            } else {
                store_tile(tile, value);
            }
        });
}

/// Inverse transform of a plane along y.
template <int Ny>
void inverse_y(const Grid& grid, const Axis& axis, double* plane) {
    for (int block = 0; block < grid.blocks(); ++block) {
        double* const pencil = plane + static_cast<std::size_t>(block) * grid.column();
        fft<Ny, Direction::kInverse>(
            axis.table,
            [&](int y) { return load_tile(pencil + static_cast<std::size_t>(y) * kTile); },
            [&](int y, const Complex& value) {
                store_tile(pencil + static_cast<std::size_t>(y) * kTile, value);
            });
    }
}

/// Inverse transform of a plane along x; straight plane in, turned plane out.
template <int Nx>
void inverse_x(const Grid& grid, const Axis& axis, double* plane, double* scratch) {
    const auto column = grid.column();
    for (int y = 0; y < grid.ny; y += kLanes) {
        double* const rows = plane + static_cast<std::size_t>(y) * kTile;
        for (std::size_t block = 0; block < static_cast<std::size_t>(Nx / kLanes); ++block) {
            transpose_tiles(rows + block * column, scratch + block * kLanes * kTile);
        }
        fft<Nx, Direction::kInverse>(
            axis.table,
            [&](int x) { return load_tile(scratch + static_cast<std::size_t>(x) * kTile); },
            [&](int x, const Complex& value) {
                store_tile(rows + static_cast<std::size_t>(x / kLanes) * column +
                               static_cast<std::size_t>(x % kLanes) * kTile,
                           value);
            });
    }
}

}  // namespace aferir::npb::AFERIR_ISA
