#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "common/intrinsics.hpp"
#include "common/simd.hpp"
#include "npb/block.hpp"

// MG's operators on one row of grid points. A row pointer points to the row's first point; kGhosts
// numbers before it and after its last point are readable, the nearest of them being the row's
// periodic continuation.

namespace aferir::npb::AFERIR_ISA {

inline constexpr std::size_t kGhosts = 8;

/// Calls `work` with the widest block that divides a row of `size` points.
template <typename Work>
void with_width(std::size_t size, const Work& work) {
    if (size >= kLanes) {
        work(std::integral_constant<int, kLanes>{});
    } else if (kLanes > 4 && size >= 4) {
        work(std::integral_constant < int, kLanes<4 ? kLanes : 4>{});
    } else {
        work(std::integral_constant<int, 2>{});
    }
}

/// The W points that begin one before `block`, whose left neighbour is `left`.
template <int W>
Block<W> shifted_left(Block<W> left, Block<W> block) {
    return pick<W - 1, 1, W>(left, block, std::make_integer_sequence<int, W>{});
}

/// The W points that begin one after the begin of `block`, whose right neighbour is `right`.
template <int W>
Block<W> shifted_right(Block<W> block, Block<W> right) {
    return pick<1, 1, W>(block, right, std::make_integer_sequence<int, W>{});
}

template <int W>
Block<W> evens(Block<W> low, Block<W> high) {
    return pick<0, 2, W>(low, high, std::make_integer_sequence<int, W>{});
}

template <int W>
Block<W> odds(Block<W> low, Block<W> high) {
    return pick<1, 2, W>(low, high, std::make_integer_sequence<int, W>{});
}

/// even[First], odd[First], even[First + 1], ...: W numbers.
template <int First, int W, int... I>
Block<W> interleaved(Block<W> even, Block<W> odd, std::integer_sequence<int, I...> /*places*/) {
    return shuffled<(First + I / 2 + I % 2 * W)...>(even, odd);
}

inline void wrap_row(double* row, std::size_t size) {
    row[-1] = row[size - 1];
    row[size] = row[0];
}

/// Three rows of each of three planes: [3 * plane + row], the centre being [4].
using Neighbours = std::array<const double*, 9>;

/// Sums across the row's direction: of the rows at distance 1 (they share a face with the centre
/// row) and of those at distance 2 (an edge).
template <int W>
struct Cross {
    Cross(const Neighbours& rows, std::ptrdiff_t i)
        : centre(load_block<W>(rows[4] + i)),
          faces((load_block<W>(rows[1] + i) + load_block<W>(rows[7] + i)) +
                (load_block<W>(rows[3] + i) + load_block<W>(rows[5] + i))),
          edges((load_block<W>(rows[0] + i) + load_block<W>(rows[2] + i)) +
                (load_block<W>(rows[6] + i) + load_block<W>(rows[8] + i))) {}

    Block<W> centre;
    Block<W> faces;
    Block<W> edges;
};

/// Calls `point(i, centre, face, edge, corner)` block by block, with the sums of the neighbours at
/// distance 1, 2 and 3. Each row is read once: what the neighbouring block needs is shifted in
/// registers. Everything is passed by value, or the compiler would load the pointers anew after
/// each store.
template <int W, typename PerBlock>
[[gnu::always_inline]] inline void for_each_block(Neighbours rows, std::size_t size,
                                                  PerBlock per_block) {
    Cross<W> left(rows, -W);
    Cross<W> block(rows, 0);
    for (std::size_t i = 0; i < size; i += W) {
        const Cross<W> right(rows, static_cast<std::ptrdiff_t>(i) + W);
        const auto both = [&](Block<W> Cross<W>::* sums) {
            return shifted_left<W>(left.*sums, block.*sums) +
                   shifted_right<W>(block.*sums, right.*sums);
        };
        per_block(i, block.centre, both(&Cross<W>::centre) + block.faces,
                  both(&Cross<W>::faces) + block.edges, both(&Cross<W>::edges));
        left = block;
        block = right;
    }
}

/// out = v - A u, A = (-8/3, 0, 1/6, 1/12) by distance. `out` may be `v`.
template <int W>
void residual_row(double* out, const double* v, const Neighbours& u, std::size_t size) {
    for_each_block<W>(
        u, size, [=](std::size_t i, Block<W> centre, Block<W>, Block<W> edges, Block<W> corners) {
            store_block<W>(out + i, load_block<W>(v + i) + 8.0 / 3 * centre - 1.0 / 6 * edges -
                                        1.0 / 12 * corners);
        });
    wrap_row(out, size);
}

/// out = u + C r; `smoother`: C's coefficients for the centre, faces and edges. `out` may alias
/// `u`; a null `u` counts as zeros.
template <int W>
void smooth_row(double* out, const double* u, const Neighbours& r, std::array<double, 3> smoother,
                std::size_t size) {
    for_each_block<W>(
        r, size, [=](std::size_t i, Block<W> centre, Block<W> faces, Block<W> edges, Block<W>) {
            const auto old = u == nullptr ? Block<W>{} : load_block<W>(u + i);
            store_block<W>(out + i,
                           old + smoother[0] * centre + smoother[1] * faces + smoother[2] * edges);
        });
    wrap_row(out, size);
}

/// One row of the coarser grid from the nine finer ones around it, by trilinear weights. Coarse
/// point c lies on fine point 2 c + 1. `size` is the coarse row's.
template <int W>
void restrict_row(double* coarse, Neighbours fine, std::size_t size) {
    const auto weighted = [=](std::size_t i) {
        const Cross<W> cross(fine, static_cast<std::ptrdiff_t>(i));
        return 0.5 * cross.centre + 0.25 * cross.faces + 0.125 * cross.edges;
    };
    auto low = weighted(0);
    auto high = weighted(W);
    auto even = evens<W>(low, high);
    const auto first_even = even;
    for (std::size_t c = 0; c < size; c += W) {
        const auto odd = odds<W>(low, high);
        auto next_even = first_even;  // periodic
        if (c + W < size) {
            low = weighted(2 * (c + W));
            high = weighted(2 * (c + W) + W);
            next_even = evens<W>(low, high);
        }
        store_block<W>(coarse + c, odd + 0.5 * (even + shifted_right<W>(even, next_even)));
        even = next_even;
    }
    wrap_row(coarse, size);
}

/// The four coarse rows around a fine one; several are the same row if the fine one lies in a
/// coarse plane or row.
using CoarseRows = std::array<const double*, 4>;

/// out = u + Q z: trilinear interpolation of coarse rows, of which `Count` (1, 2 or 4) differ.
/// A null `u` is 0. `size` is the coarse row's.
template <int W, int Count>
void interpolate_row(double* out, const double* u, CoarseRows z, std::size_t size) {
    const auto mean = [=](std::ptrdiff_t i) {
        auto sum = load_block<W>(z[0] + i);
        for (std::size_t row = 1; row < Count; ++row) {
            sum += load_block<W>(z[row] + i);
        }
        return sum * (1.0 / Count);
    };
    constexpr auto kLanesOf = std::make_integer_sequence<int, W>{};
    auto left = mean(-W);
    for (std::size_t c = 0; c < size; c += W) {
        const auto odd = mean(static_cast<std::ptrdiff_t>(c));
        const auto even = 0.5 * (shifted_left<W>(left, odd) + odd);
        auto low = interleaved<0, W>(even, odd, kLanesOf);
        auto high = interleaved<W / 2, W>(even, odd, kLanesOf);
        if (u != nullptr) {
            low += load_block<W>(u + 2 * c);
            high += load_block<W>(u + 2 * c + W);
        }
        store_block<W>(out + 2 * c, low);
        store_block<W>(out + 2 * c + W, high);
        left = odd;
    }
    wrap_row(out, 2 * size);
}

/// Prefetches a row into L2: a whole plane of a tile before any of it is used.
inline void prefetch_row(const double* row, std::size_t size) {
    for (std::size_t i = 0; i < size; i += 8) {
        __builtin_prefetch(row + i, 0, 2);
    }
}

inline double square_sum(const double* row, std::size_t size) {
    Block<2> sum{};
    for (std::size_t i = 0; i < size; i += 2) {
        const auto block = load_block<2>(row + i);
        sum += block * block;
    }
    return sum[0] + sum[1];
}

/// Copies a row's points, not its ghosts, past the caches: they will not be read again before
/// they had been evicted, and a cached store would first read the line. Needs a fence afterwards.
inline void stream_row(double* out, const double* row, std::size_t size) {
#if defined(__x86_64__)
    for (std::size_t i = 0; i < size; i += kLanes) {
#if defined(__AVX512F__)
        _mm512_stream_pd(out + i, _mm512_load_pd(row + i));
#elif defined(__AVX2__)
        _mm256_stream_pd(out + i, _mm256_load_pd(row + i));
#else
        _mm_stream_pd(out + i, _mm_load_pd(row + i));
#endif
    }
#else
    std::memcpy(out, row, size * sizeof(double));
#endif
}

inline void stream_fence() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace aferir::npb::AFERIR_ISA
