#pragma once

#include <array>
#include <cstddef>

#include "common/memory.hpp"
#include "npb/mg_rows.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Half-open range of planes or rows; may begin before 0 or end past the grid: that is periodic.
struct Span {
    std::ptrdiff_t begin;
    std::ptrdiff_t end;

    [[nodiscard]] Span widened(std::ptrdiff_t before, std::ptrdiff_t after) const {
        return {begin - before, end + after};
    }
    [[nodiscard]] bool contains(std::ptrdiff_t index) const {
        return begin <= index && index < end;
    }
};

/// A periodic cube of points. Rows have ghosts, whose writer keeps them periodic; planes and rows
/// beyond the cube are found by wrapping the index, so that nothing is ever copied for them.
class Grid {
  public:
    explicit Grid(std::size_t size)
        : size_(size), pitch_(size + 2 * kGhosts), data_(size * size * pitch_) {}

    [[nodiscard]] std::size_t size() const { return size_; }

    [[nodiscard]] double* row(std::ptrdiff_t plane, std::ptrdiff_t row) const {
        return data_.data() + (wrapped(plane) * size_ + wrapped(row)) * pitch_ + kGhosts;
    }

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
    HugeArray<double> data_;
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
