#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "common/memory.hpp"
#include "npb/mg_rows.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Half-open range of planes or rows. Indices before 0 or past the grid's end wrap around.
struct Span {
    std::ptrdiff_t begin;
    std::ptrdiff_t end;

    [[nodiscard]] std::ptrdiff_t size() const { return end - begin; }
    [[nodiscard]] Span widened(std::ptrdiff_t before, std::ptrdiff_t after) const {
        return {begin - before, end + after};
    }
    [[nodiscard]] bool contains(std::ptrdiff_t index) const {
        return begin <= index && index < end;
    }
};

/// A periodic cube of points, or a part of one. Rows have ghosts, whose writer keeps them periodic;
/// planes and rows beyond the cube are found by wrapping the index, so that nothing is ever copied
/// for them.
class Grid {
  public:
    explicit Grid(std::size_t size)
        : Grid(size, {0, static_cast<std::ptrdiff_t>(size)},
               {0, static_cast<std::ptrdiff_t>(size)}) {}

    /// Only these planes and rows of a cube of that size, at most as many as it has.
    Grid(std::size_t size, Span planes, Span rows)
        : size_(size),
          pitch_(size + 2 * kGhosts),
          planes_(planes),
          rows_(rows),
          row_count_(static_cast<std::size_t>(rows.size())),
          memory_(std::in_place, values(size, planes, rows)),
          data_(memory_->span()) {}

    /// A grid of all planes and rows of a cube; `allocate(n)` returns a HugeArray of n doubles.
    template <typename Allocate>
    Grid(std::size_t size, const Allocate& allocate)
        : size_(size),
          pitch_(size + 2 * kGhosts),
          planes_{0, static_cast<std::ptrdiff_t>(size)},
          rows_(planes_),
          row_count_(size),
          memory_(allocate(values(size, planes_, rows_))),
          data_(memory_->span()) {}

    /// A grid of these planes and rows in the caller's `memory`, which has values() doubles.
    Grid(std::size_t size, Span planes, Span rows, double* memory)
        : size_(size),
          pitch_(size + 2 * kGhosts),
          planes_(planes),
          rows_(rows),
          row_count_(static_cast<std::size_t>(rows.size())),
          data_(memory, values(size, planes, rows)) {}

    [[nodiscard]] static std::size_t values(std::size_t size, Span planes, Span rows) {
        return static_cast<std::size_t>(planes.size()) * static_cast<std::size_t>(rows.size()) *
               (size + 2 * kGhosts);
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    /// Doubles from one row, or one plane, to the next.
    [[nodiscard]] std::size_t pitch() const { return pitch_; }
    [[nodiscard]] std::size_t plane_pitch() const { return row_count_ * pitch_; }

    [[nodiscard]] double* row(std::ptrdiff_t plane, std::ptrdiff_t row) const {
        return data_.data() +
               (wrapped(plane - planes_.begin) * row_count_ + wrapped(row - rows_.begin)) * pitch_ +
               kGhosts;
    }

    [[nodiscard]] bool has(std::ptrdiff_t plane, std::ptrdiff_t row) const {
        return wrapped(plane - planes_.begin) < static_cast<std::size_t>(planes_.size()) &&
               wrapped(row - rows_.begin) < row_count_;
    }

    /// All values, including ghosts.
    [[nodiscard]] std::span<double> data() const { return data_; }

    [[nodiscard]] Neighbours around(std::ptrdiff_t plane, std::ptrdiff_t row_index) const {
        Neighbours rows{};
        for (std::ptrdiff_t i = 0; i < 9; ++i) {
            rows[static_cast<std::size_t>(i)] = row(plane + i / 3 - 1, row_index + i % 3 - 1);
        }
        return rows;
    }

    void clear(Span planes, Span rows) const {
        for (auto plane = planes.begin; plane < planes.end; ++plane) {
            std::memset(row(plane, rows.begin) - kGhosts, 0,
                        static_cast<std::size_t>(rows.end - rows.begin) * pitch_ * sizeof(double));
        }
    }

  private:
    [[nodiscard]] std::size_t wrapped(std::ptrdiff_t index) const {
        return static_cast<std::size_t>(index) & (size_ - 1);  // the size is a power of two
    }

    std::size_t size_;
    std::size_t pitch_;
    Span planes_;
    Span rows_;
    std::size_t row_count_;
    std::optional<HugeArray<double>> memory_;
    std::span<double> data_;
};

/// out = u + Q coarse for one row of a grid twice as fine; a null `u` is 0.
inline void interpolate(double* out, const double* u, const Grid& coarse, std::ptrdiff_t plane,
                        std::ptrdiff_t row) {
    // Fine 2 c + 1 lies on coarse c, fine 2 c between coarse c - 1 and c.
    const auto upper_plane = plane >> 1;
    const auto upper_row = row >> 1;
    const auto lower_plane = (plane & 1) != 0 ? upper_plane : upper_plane - 1;
    const auto lower_row = (row & 1) != 0 ? upper_row : upper_row - 1;
    const CoarseRows z{coarse.row(lower_plane, lower_row), coarse.row(upper_plane, upper_row),
                       coarse.row(lower_plane, upper_row), coarse.row(upper_plane, lower_row)};
    const int different = (lower_plane == upper_plane ? 1 : 2) * (lower_row == upper_row ? 1 : 2);
    with_width(coarse.size(), [&](auto width) {
        if (different == 1) {
            interpolate_row<width, 1>(out, u, z, coarse.size());
        } else if (different == 2) {
            interpolate_row<width, 2>(out, u, z, coarse.size());
        } else {
            interpolate_row<width, 4>(out, u, z, coarse.size());
        }
    });
}

}  // namespace aferir::npb::AFERIR_ISA
