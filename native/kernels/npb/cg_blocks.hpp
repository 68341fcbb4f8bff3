#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "common/simd.hpp"
#include "npb/cg_matrix.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Half-open range of rows or columns.
struct Range {
    std::size_t begin;
    std::size_t end;

    [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// The rows of a sparse matrix that one thread multiplies, cut into blocks of columns, each in
/// SELL-8-sigma order (Kreutzer et al., SIAM J. Sci. Comput. 36, 2014).
///
/// The elements of CG's rows are in random columns, so without blocks nearly every element of the
/// vector would come from L2. The 2,048 elements that a block needs stay in L1 (measured on Zen 4,
/// class A: 0.9 -> 0.4 ns an element), and 16 bits hold the number of a block's column.
class BlockedRows {
  public:
    static constexpr std::size_t kLanes = 8;

    /// Call it in the thread that will multiply, which must be the first to touch the arrays.
    /// `rows` begins at a multiple of kLanes and ends at one, or at the matrix's end.
    BlockedRows(const SparseMatrix& matrix, Range rows) : BlockedRows(Plan(matrix, rows)) {}

    /// y[rows] = A x. One element past the matrix's order must be writable in `y`: it receives the
    /// sums of lanes without a row.
    void multiply(const double* x, double* y) const {
        std::fill(y + rows_.begin, y + rows_.end, 0.0);
        const double* values = values_.data();
        const std::uint64_t* indices = indices_.data();
        for (const auto& slice : slices_) {
            multiply_slice(slice, x + slice.first_column, values, indices, y);
            values += slice.width * kLanes;
            indices += slice.width * kWords;
        }
    }

  private:
    static constexpr std::size_t kWords = kLanes / 4;  // four 16-bit columns in a word
    static constexpr std::size_t kWindow = 256;        // sigma: rows sorted by length together

    using Pair = double __attribute__((vector_size(16)));

    struct Slice {
        std::uint32_t width;
        std::uint32_t first_column;
        std::array<std::uint32_t, kLanes> rows;
    };

    /// Says which elements of the matrix go to which lane of which slice.
    struct Plan {
        Plan(const SparseMatrix& source, Range part) : matrix(source), rows(part) {
            const auto columns = matrix.width;
            const auto most = columns <= 16384 ? std::size_t{2048} : std::size_t{4096};
            const auto blocks = (columns + most - 1) / most;
            const auto width = (columns + blocks - 1) / blocks;
            std::vector<std::size_t> next(matrix.starts.begin() + static_cast<long>(rows.begin),
                                          matrix.starts.begin() + static_cast<long>(rows.end));
            for (std::size_t column = 0; column < columns; column += width) {
                add_block({column, std::min(columns, column + width)}, next);
            }
        }

        struct Lane {
            std::uint32_t row;
            std::size_t begin;
            std::size_t end;
        };

        /// Ties keep the order of the rows, so that neighbours in memory stay neighbours.
        static bool longer_first(const Lane& a, const Lane& b) {
            const auto length_a = a.end - a.begin;
            const auto length_b = b.end - b.begin;
            return length_a != length_b ? length_a > length_b : a.row < b.row;
        }

        /// `next`: for each row, its first element that no block has taken yet.
        void add_block(Range block, std::vector<std::size_t>& next) {
            std::vector<Lane> lanes;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const auto begin = next[i];
                while (next[i] < matrix.starts[rows.begin + i + 1] &&
                       matrix.columns[next[i]] < block.end) {
                    ++next[i];
                }
                lanes.push_back({static_cast<std::uint32_t>(rows.begin + i), begin, next[i]});
            }
            for (std::size_t i = 0; i < lanes.size(); i += kWindow) {
                const auto first = lanes.begin() + static_cast<long>(i);
                std::sort(first, first + static_cast<long>(std::min(kWindow, lanes.size() - i)),
                          longer_first);
            }
            lanes.resize((lanes.size() + kLanes - 1) / kLanes * kLanes,
                         {static_cast<std::uint32_t>(matrix.order()), 0, 0});
            for (std::size_t i = 0; i < lanes.size(); i += kLanes) {
                add_slice(block, std::span(lanes).subspan(i, kLanes));
            }
        }

        void add_slice(Range block, std::span<const Lane> lanes) {
            const auto width = static_cast<std::uint32_t>(lanes[0].end - lanes[0].begin);
            Slice slice{width, static_cast<std::uint32_t>(block.begin), {}};
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                slice.rows[lane] = lanes[lane].row;
                elements.push_back({lanes[lane].begin, lanes[lane].end});
            }
            slices.push_back(slice);
            steps += width;
        }

        const SparseMatrix& matrix;
        Range rows;
        std::vector<Slice> slices;
        std::vector<Range> elements;  // kLanes for each slice
        std::size_t steps = 0;
    };

    explicit BlockedRows(const Plan& plan)
        : rows_(plan.rows),
          slices_(plan.slices),
          values_(plan.steps * kLanes),
          indices_(plan.steps * kWords) {
        std::size_t step = 0;
        for (std::size_t s = 0; s < slices_.size(); ++s) {
            for (std::size_t k = 0; k < slices_[s].width; ++k, ++step) {
                fill_step(plan, s, k, step);
            }
        }
    }

    /// Lanes shorter than the slice are padded with zeros that multiply the block's first column.
    void fill_step(const Plan& plan, std::size_t s, std::size_t k, std::size_t step) {
        std::array<std::uint64_t, kWords> words{};
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const auto element = plan.elements[s * kLanes + lane].begin + k;
            const bool exists = element < plan.elements[s * kLanes + lane].end;
            values_[step * kLanes + lane] = exists ? plan.matrix.values[element] : 0.0;
            const std::uint64_t column =
                exists ? plan.matrix.columns[element] - slices_[s].first_column : 0;
            words[lane / 4] |= column << (16U * (lane % 4));
        }
        std::copy(words.begin(), words.end(), indices_.data() + step * kWords);
    }

#if defined(__AVX512F__)
    /// Loads the element of each lane by a masked broadcast, which is one load and no shuffle. On
    /// Zen 5, class A, that is 1.12 times as fast as pairs of scalar loads; the hardware's gather
    /// instruction is half as fast as those.
    static void multiply_slice(const Slice& slice, const double* x, const double* values,
                               const std::uint64_t* indices, double* y) {
        Vector sum{};
        for (std::uint32_t k = 0; k < slice.width; ++k, values += kLanes, indices += kWords) {
            Vector elements{};
            unroll<kLanes>([&](auto index) __attribute__((always_inline)) {
                constexpr int i = index;
                const auto column = (indices[i / 4] >> (16U * (i % 4))) & 0xFFFFU;
                elements = _mm512_mask_broadcastsd_pd(elements, 1U << i, _mm_load_sd(x + column));
            });
            sum += load(values) * elements;
        }
        add_to_rows(slice, std::bit_cast<std::array<double, kLanes>>(sum), y);
    }
#else
    /// Loads elements in pairs of scalar loads, which are faster than the hardware's gather
    /// instruction on Zen 4 (0.31 against 0.43 ns an element). The columns of four elements are
    /// read by one load, which leaves the load ports to the vector.
    static void multiply_slice(const Slice& slice, const double* x, const double* values,
                               const std::uint64_t* indices, double* y) {
        std::array<Pair, kLanes / 2> sums{};
        for (std::uint32_t k = 0; k < slice.width; ++k, values += kLanes, indices += kWords) {
            const auto low = indices[0];
            const auto high = indices[1];
            const auto* const value = reinterpret_cast<const Pair*>(values);
            sums[0] += value[0] * Pair{x[low & 0xFFFFU], x[(low >> 16U) & 0xFFFFU]};
            sums[1] += value[1] * Pair{x[(low >> 32U) & 0xFFFFU], x[low >> 48U]};
            sums[2] += value[2] * Pair{x[high & 0xFFFFU], x[(high >> 16U) & 0xFFFFU]};
            sums[3] += value[3] * Pair{x[(high >> 32U) & 0xFFFFU], x[high >> 48U]};
        }
        add_to_rows(slice, std::bit_cast<std::array<double, kLanes>>(sums), y);
    }
#endif

    static void add_to_rows(const Slice& slice, const std::array<double, kLanes>& sums, double* y) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            y[slice.rows[lane]] += sums[lane];
        }
    }

    Range rows_;
    std::vector<Slice> slices_;
    HugeArray<double> values_;
    HugeArray<std::uint64_t> indices_;
};

/// Rows of `thread` if rows are distributed in contiguous parts with about equal numbers of
/// elements; parts begin at multiples of eight rows, so that no two threads write one cache line.
inline Range share_rows(const SparseMatrix& matrix, int thread, int threads) {
    const auto bound = [&](int part) {
        const auto elements = matrix.starts.back() * static_cast<std::size_t>(part) /
                              static_cast<std::size_t>(threads);
        const auto row = static_cast<std::size_t>(
            std::lower_bound(matrix.starts.begin(), matrix.starts.end(), elements) -
            matrix.starts.begin());
        return part == threads ? matrix.order() : std::min(row / 8 * 8, matrix.order());
    };
    return {bound(thread), bound(thread + 1)};
}

}  // namespace aferir::npb::AFERIR_ISA
