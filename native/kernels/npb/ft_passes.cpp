#include "npb/ft_passes.hpp"

#include <array>
#include <optional>
#include <stdexcept>

#include "npb/random.hpp"

namespace aferir::npb::AFERIR_ISA {
namespace {

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

template <int Nz>
void forward_z(const Axis& axis, double* spectrum, Column column) {
    fft<Nz>(
        axis.table,
        [&](int z) {
            const double* const tile = column(z);
            // The hardware's prefetcher can follow fewer streams than there are planes.
            __builtin_prefetch(tile + kTile);
            __builtin_prefetch(tile + kTile + kLanes);
            return load_tile(tile);
        },
        [&](int z, const Complex& value) {
            store_tile(spectrum + static_cast<std::size_t>(z) * kTile, value);
        });
}

template <int Nz, bool streaming>
void evolve_z(const Axis& axis, const Decays& decays, Vector along_xy, const double* spectrum,
              Column column) {
    fft<Nz>(
        axis.table,
        [&](int z) {
            const Vector factor = along_xy * decays.z[static_cast<std::size_t>(z)];
            const Complex value =
                load_tile(spectrum + static_cast<std::size_t>(z) * kTile, kInverse);
            return Complex{value.re * factor, value.im * factor};
        },
        [&](int z, const Complex& value) {
            double* const tile = column(z);
            if constexpr (streaming) {
                stream_tile(tile, value, kInverse);
            } else {
                store_tile(tile, value, kInverse);
            }
        });
}

template <int Ny>
void inverse_y(const Grid& grid, const Axis& axis, double* plane) {
    for (int block = 0; block < grid.blocks(); ++block) {
        double* const pencil = plane + static_cast<std::size_t>(block) * grid.column();
        transform_pencil<Ny>(axis, pencil, pencil, kInverse);
    }
}

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

/// Number of classes that are compiled, from S on: each takes a compiler seconds for its lengths.
#ifdef AFERIR_FT_CLASSES
constexpr int kFtClasses = AFERIR_FT_CLASSES;
#else
constexpr int kFtClasses = kFtGrids.size();
#endif

template <std::size_t Class>
Passes compiled(bool streaming) {
    constexpr Grid kGrid = kFtGrids[Class];
    // A process has a part of the grid, and what is smaller is not streamed either.
    constexpr bool kMayStream = streams(kGrid.points());
    return {generate_x<kGrid.nx>,
            forward_y<kGrid.ny>,
            forward_z<kGrid.nz>,
            streaming ? evolve_z<kGrid.nz, kMayStream> : evolve_z<kGrid.nz, false>,
            inverse_y<kGrid.ny>,
            inverse_x<kGrid.nx>};
}

}  // namespace

Passes passes_of(const Grid& grid, bool streaming) {
    std::optional<Passes> found;
    unroll<kFtClasses>([&](auto index) {
        constexpr Grid kGrid = kFtGrids[index];
        if (grid.nx == kGrid.nx && grid.ny == kGrid.ny && grid.nz == kGrid.nz) {
            found = compiled<index>(streaming);
        }
    });
    if (!found) {
        throw std::logic_error("FT was compiled without this class");
    }
    return *found;
}

}  // namespace aferir::npb::AFERIR_ISA
