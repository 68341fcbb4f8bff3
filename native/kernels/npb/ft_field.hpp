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
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/memory.hpp"
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

/// kLanes rows of the initial state at once, lane i from the row of seed i.
class RowGenerator {
  public:
    RowGenerator(std::uint64_t seed, int nx)
        : skip_(lcg_power(kMultiplier,
                          static_cast<std::uint64_t>(std::ptrdiff_t{2} * nx * (kLanes - 1)))) {
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

inline void stream_tile(double* tile, const Complex& value, Parts parts) {
#if defined(__AVX512F__)
    _mm512_stream_pd(tile + parts.re, value.re);
    _mm512_stream_pd(tile + parts.im, value.im);
#elif defined(__AVX2__)
    _mm256_stream_pd(tile + parts.re, value.re);
    _mm256_stream_pd(tile + parts.im, value.im);
#elif defined(__SSE2__)
    _mm_stream_pd(tile + parts.re, value.re);
    _mm_stream_pd(tile + parts.im, value.im);
#else
    store_tile(tile, value, parts);
#endif
}

/// Makes streamed stores visible before a barrier that does not know of them.
inline void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/// Tiles of both directions: their parts by addresses of their own, which take fewer instructions
/// than places within a tile.
template <typename Number>
struct Tiles {
    Tiles(Number* tiles, Parts parts) : re(tiles + parts.re), im(tiles + parts.im) {}
    [[nodiscard]] Complex get(std::size_t at) const { return {load(re + at), load(im + at)}; }
    void set(std::size_t at, const Complex& value) const {
        store(re + at, value.re);
        store(im + at, value.im);
    }

    Number* re;
    Number* im;
};

/// Transforms kLanes rows along x, from `source` into a turned plane. One function for both
/// directions, since one for each length takes compilers long.
template <int Nx>
[[gnu::noinline]] void transform_rows(const Axis& axis, const double* source, double* target,
                                      std::size_t column, Parts parts) {
    fft<Nx>(
        axis.table,
        [in = Tiles(source, parts)](int x) { return in.get(static_cast<std::size_t>(x) * kTile); },
        [out = Tiles(target, parts), column](int x, const Complex& value) {
            out.set(static_cast<std::size_t>(x / kLanes) * column +
                        static_cast<std::size_t>(x % kLanes) * kTile,
                    value);
        });
}

/// Transforms a pencil along y, in both directions as well.
template <int Ny>
[[gnu::noinline]] void transform_pencil(const Axis& axis, const double* source, double* target,
                                        Parts parts) {
    fft<Ny>(
        axis.table,
        [in = Tiles(source, parts)](int y) { return in.get(static_cast<std::size_t>(y) * kTile); },
        [out = Tiles(target, parts)](int y, const Complex& value) {
            out.set(static_cast<std::size_t>(y) * kTile, value);
        });
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
        transform_rows<Nx>(axis, scratch, target, column, kForward);
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
        transform_pencil<Ny>(axis, scratch, pencil, kForward);
    }
}

/// Transforms one z pencil forwards along z: from the work tiles `tile_at(z)` into the contiguous
/// `spectrum`. Prefetches the next pencil, which is `kTile` numbers past each work tile.
template <int Nz, typename TileAt>
void forward_z(const Axis& axis, double* spectrum, const TileAt& tile_at) {
    fft<Nz>(
        axis.table,
        [&](int z) {
            const double* const tile = tile_at(z);
            // The hardware's prefetcher can follow fewer streams than there are planes.
            __builtin_prefetch(tile + kTile);
            __builtin_prefetch(tile + kTile + kLanes);
            return load_tile(tile);
        },
        [&](int z, const Complex& value) {
            store_tile(spectrum + static_cast<std::size_t>(z) * kTile, value);
        });
}

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

/// Evolves one z pencil of the spectrum and transforms it back along z, into the work tiles
/// `tile_at(z)`.
template <int Nz, bool streaming, typename TileAt>
void evolve_z(const Axis& axis, const Decays& decays, Vector along_xy, const double* spectrum,
              const TileAt& tile_at) {
    fft<Nz>(
        axis.table,
        [&](int z) {
            const Vector factor = along_xy * decays.z[static_cast<std::size_t>(z)];
            const Complex value =
                load_tile(spectrum + static_cast<std::size_t>(z) * kTile, kInverse);
            return Complex{value.re * factor, value.im * factor};
        },
        [&](int z, const Complex& value) {
            double* const tile = tile_at(z);
            if constexpr (streaming) {
                stream_tile(tile, value, kInverse);
            } else {
                store_tile(tile, value, kInverse);
            }
        });
}

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

/// Inverse transform of a plane along y.
template <int Ny>
void inverse_y(const Grid& grid, const Axis& axis, double* plane) {
    for (int block = 0; block < grid.blocks(); ++block) {
        double* const pencil = plane + static_cast<std::size_t>(block) * grid.column();
        transform_pencil<Ny>(axis, pencil, pencil, kInverse);
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
        transform_rows<Nx>(axis, scratch, rows, column, kInverse);
    }
}

inline constexpr std::uint64_t kFtSeed = 314159265;
inline constexpr std::array<Grid, 6> kFtGrids{{{64, 64, 64},
                                               {128, 128, 32},
                                               {256, 256, 128},
                                               {512, 256, 256},
                                               {512, 512, 512},
                                               {2048, 1024, 1024}}};
/// Whether a work field of so many points leaves the caches between writing and reading, so that it
/// is streamed.
constexpr bool streams(std::size_t points) { return 16 * points > std::size_t{32} << 20U; }

/// Number of classes that are compiled, from S on: each takes a compiler seconds for its lengths.
/// Nothing is computed in a class that is left out, and so it does not verify.
#ifdef AFERIR_FT_CLASSES
inline constexpr int kFtClasses = AFERIR_FT_CLASSES;
#else
inline constexpr int kFtClasses = kFtGrids.size();
#endif

/// Calls body with the lengths of a grid, which is one of kFtGrids, as constants: nothing is
/// compiled for lengths that no problem has.
template <typename Body>
void with_lengths(const Grid& grid, const Body& body) {
    unroll<kFtClasses>([&](auto index) {
        constexpr Grid kGrid = kFtGrids[static_cast<std::size_t>(index)];
        if (grid.nx == kGrid.nx && grid.ny == kGrid.ny && grid.nz == kGrid.nz) {
            body(std::integral_constant<int, kGrid.nx>{}, std::integral_constant<int, kGrid.ny>{},
                 std::integral_constant<int, kGrid.nz>{});
        }
    });
}

struct Axes {
    explicit Axes(const Grid& grid) : x(grid.nx), y(grid.ny), z(grid.nz) {}
    Axis x;
    Axis y;
    Axis z;
};

/// Floating-point operations as NPB counts them; the logarithms are natural ones.
inline double ft_operations(const Grid& grid, int iterations) {
    const auto points = static_cast<double>(grid.points());
    const double logarithm = std::log(points);
    return points * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations);
}

}  // namespace aferir::npb::AFERIR_ISA
