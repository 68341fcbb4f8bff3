#pragma once

// The arrays of BT and SP: [k][j][block][component][lane]. A block is kLanes neighbours in i, with
// their five components one vector after the other.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "common/memory.hpp"
#include "common/simd.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// One vector for each of the five components.
using Values = std::array<Vector, 5>;

inline constexpr std::size_t kBlock = std::size_t{5} * kLanes;  ///< doubles

[[gnu::always_inline]] inline Values load_values(const double* block) {
    Values values;
    unroll<5>([&](auto m) __attribute__((always_inline)) { values[m] = load(block + m * kLanes); });
    return values;
}

[[gnu::always_inline]] inline void store_values(double* block, const Values& values) {
    unroll<5>([&](auto m) __attribute__((always_inline)) { store(block + m * kLanes, values[m]); });
}

/// Five components of the points of a cube, or of some rows (ranges of k and j) of it. The rows'
/// first block ends with i = 0, so that the inner points begin with one.
class Field {
  public:
    /// Field of a cube with `size` points along an edge.
    explicit Field(int size) : Field(size, {0, size}, {0, size}) {}

    Field(int size, GridRange planes, GridRange rows)
        : Field(size, planes, rows, [](std::size_t values) { return HugeArray<double>(values); }) {}

    /// `allocate` makes a HugeArray of so many doubles.
    template <typename Allocate>
    Field(int size, GridRange planes, GridRange rows, const Allocate& allocate)
        : planes_(planes),
          rows_(rows),
          inner_blocks_(static_cast<int>((size - 2 + kLanes - 1) / kLanes)),
          row_((static_cast<std::size_t>((size - 1 + kLanes - 1) / kLanes) + 1) * kBlock),
          plane_(padded(row_ * static_cast<std::size_t>(rows.size()))),
          data_(allocate(plane_ * static_cast<std::size_t>(planes.size()))) {}

    [[nodiscard]] GridRange planes() const { return planes_; }
    [[nodiscard]] GridRange rows() const { return rows_; }

    /// Blocks that cover the inner points of a row.
    [[nodiscard]] int inner_blocks() const { return inner_blocks_; }
    /// All blocks of a row.
    [[nodiscard]] int blocks() const { return static_cast<int>(row_ / kBlock); }
    [[nodiscard]] std::size_t row_step() const { return row_; }
    [[nodiscard]] std::size_t plane_step() const { return plane_; }

    /// A block of row j of plane k: block 0 begins with i = 1, block -1 is before it.
    [[nodiscard]] double* block(int k, int j, int index) const {
        return data_.data() + static_cast<std::size_t>(k - planes_.begin) * plane_ +
               static_cast<std::size_t>(j - rows_.begin) * row_ +
               static_cast<std::size_t>(index + 1) * kBlock;
    }

    /// Sets all of plane k, including padding.
    void fill(int k, const State& state) const {
        double* const plane = block(k, rows_.begin, -1);
        for (std::size_t place = 0; place < plane_; ++place) {
            plane[place] = state[place / kLanes % state.size()];
        }
    }

    [[nodiscard]] State state(const Place& place) const {
        const double* const first = element(place);
        State state{};
        for (std::size_t m = 0; m < state.size(); ++m) {
            state[m] = first[m * kLanes];
        }
        return state;
    }

    void set(const Place& place, const State& state) const {
        double* const first = element(place);
        for (std::size_t m = 0; m < state.size(); ++m) {
            first[m * kLanes] = state[m];
        }
    }

    /// All values of some rows of plane k, in the order of memory.
    [[nodiscard]] std::span<double> span(int k, GridRange rows) const {
        return {block(k, rows.begin, -1), static_cast<std::size_t>(rows.size()) * row_};
    }

    static std::size_t bytes(int size) { return bytes(size, size, size); }
    /// Bytes of a field with that many planes and rows.
    static std::size_t bytes(int size, int planes, int rows) {
        return 5 * static_cast<std::size_t>(planes) * static_cast<std::size_t>(rows) *
               (static_cast<std::size_t>(size) + std::size_t{2} * kLanes) * sizeof(double);
    }

  private:
    static constexpr std::size_t kLine = 8;  ///< doubles in a cache line

    /// An odd number of cache lines, or a column of planes would share a few cache sets.
    static std::size_t padded(std::size_t plane) {
        const std::size_t lines = (plane + kLine - 1) / kLine;
        return (lines | 1U) * kLine;
    }

    [[nodiscard]] double* element(const Place& place) const {
        const std::ptrdiff_t i = place[0] + kLanes - 1;
        return block(place[2], place[1], static_cast<int>(i / kLanes) - 1) + i % kLanes;
    }

    GridRange planes_;
    GridRange rows_;
    int inner_blocks_;
    std::size_t row_;
    std::size_t plane_;
    HugeArray<double> data_;
};

/// kLanes lines side by side along one axis. A line has a state at each of its `size` points and a
/// change at the inner ones, 1 to size - 2.
struct Lines {
    double* states;   ///< block of point 0
    double* changes;  ///< block of point 0
    std::size_t state_step;
    std::size_t change_step;

    [[nodiscard]] double* state(int point) const {
        return states + static_cast<std::size_t>(point) * state_step;
    }
    [[nodiscard]] double* change(int point) const {
        return changes + static_cast<std::size_t>(point) * change_step;
    }

    /// Prefetches the cache lines of a point some way ahead.
    void prefetch(int point) const {
        for (std::size_t place = 0; place < kBlock; place += 8) {
            __builtin_prefetch(state(point) + place);
            __builtin_prefetch(change(point) + place);
        }
    }
};

/// Like Lines, but every point lies in a row of its own, found through an array of pointers: entry
/// p points to block 0 of the row of point p, and `offset` leads to the block of these lines. All
/// lines across the same rows share the arrays.
struct RowLines {
    double* const* state_rows;
    double* const* change_rows;
    std::size_t offset;  ///< from block 0 to the lines' block, in doubles

    [[nodiscard]] double* state(int point) const { return state_rows[point] + offset; }
    [[nodiscard]] double* change(int point) const { return change_rows[point] + offset; }

    void prefetch(int point) const {
        for (std::size_t place = 0; place < kBlock; place += 8) {
            __builtin_prefetch(state(point) + place);
            __builtin_prefetch(change(point) + place);
        }
    }
};

}  // namespace aferir::npb::AFERIR_ISA
