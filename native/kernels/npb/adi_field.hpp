#pragma once

// The arrays of BT and SP: [k][j][component][i], so that a vector holds neighbours in i and the
// five components of a row lie together.

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/memory.hpp"
#include "npb/pseudo_application.hpp"
#include "npb/simd.hpp"

namespace aferir::npb::AFERIR_ISA {

/// A vector for each component.
using Values = std::array<Vector, 5>;

/// Numbers of vectors and doubles for a cube of `size` points along an edge.
struct Layout {
    explicit Layout(int size)
        : chunks((size - 2 + kLanes - 1) / kLanes),
          inner_pitch(static_cast<std::size_t>(chunks) * kLanes),
          outer_pitch(static_cast<std::size_t>((size - 1 + kLanes - 1) / kLanes + 1) * kLanes) {}

    int chunks;               ///< vectors that cover the inner points of a row
    std::size_t inner_pitch;  ///< doubles from component to component, inner points only
    std::size_t outer_pitch;  ///< with the boundary, and kLanes in front so that i = 1 is aligned
};

/// Five components of all rows of a cube.
class Field {
  public:
    /// `lead` doubles of each component's row lie before i = 1.
    Field(int size, std::size_t pitch, std::size_t lead)
        : pitch_(pitch),
          lead_(lead),
          plane_(padded(5 * pitch * static_cast<std::size_t>(size))),
          data_(plane_ * static_cast<std::size_t>(size)) {}

    [[nodiscard]] std::size_t pitch() const { return pitch_; }
    [[nodiscard]] std::size_t row_step() const { return 5 * pitch_; }
    [[nodiscard]] std::size_t plane_step() const { return plane_; }

    /// The first component at i = 1 of a row.
    [[nodiscard]] double* row(int k, int j) const {
        return data_.data() + static_cast<std::size_t>(k) * plane_ +
               static_cast<std::size_t>(j) * row_step() + lead_;
    }

    /// Sets all of plane k, padding as well.
    void fill(int k, const State& state) const {
        double* const plane = data_.data() + static_cast<std::size_t>(k) * plane_;
        for (std::size_t place = 0; place < plane_; ++place) {
            plane[place] = state[place / pitch_ % state.size()];
        }
    }

    [[nodiscard]] State state(const Place& place) const {
        const double* const first = row(place[2], place[1]) + place[0] - 1;
        return {first[0], first[pitch_], first[2 * pitch_], first[3 * pitch_], first[4 * pitch_]};
    }

    void set(const Place& place, const State& state) const {
        double* const first = row(place[2], place[1]) + place[0] - 1;
        for (std::size_t m = 0; m < state.size(); ++m) {
            first[m * pitch_] = state[m];
        }
    }

    static std::size_t bytes(int size, std::size_t pitch) {
        const auto edge = static_cast<std::size_t>(size);
        return padded(5 * pitch * edge) * edge * sizeof(double);
    }

  private:
    static constexpr std::size_t kLine = 8;  ///< doubles in a cache line

    /// An odd number of cache lines, or a column of planes would share a few cache sets.
    static std::size_t padded(std::size_t plane) {
        const std::size_t lines = (plane + kLine - 1) / kLine;
        return (lines | 1U) * kLine;
    }

    std::size_t pitch_;
    std::size_t lead_;
    std::size_t plane_;
    HugeArray<double> data_;
};

inline Values load_values(const double* first, std::size_t pitch) {
    return {load(first), load(first + pitch), load(first + 2 * pitch), load(first + 3 * pitch),
            load(first + 4 * pitch)};
}

inline void store_values(double* first, std::size_t pitch, const Values& values) {
    unroll<5>([&](auto m) __attribute__((always_inline)) {
        store(first + static_cast<std::size_t>(m) * pitch, values[m]);
    });
}

/// kLanes lines side by side along one axis. A line has a state at each of its `size` points and a
/// change at the inner ones, 1 to size - 2.
struct Lines {
    double* state;  ///< of point 0
    std::size_t state_step;
    std::size_t state_pitch;
    double* change;  ///< of point 0, which need not exist
    std::size_t change_step;
    std::size_t change_pitch;
    int size;

    [[nodiscard]] double* state_at(int point) const {
        return state + static_cast<std::size_t>(point) * state_step;
    }
    [[nodiscard]] Values state_values(int point) const {
        return load_values(state_at(point), state_pitch);
    }
    [[nodiscard]] double* change_at(int point) const {
        return change + static_cast<std::size_t>(point) * change_step;
    }
    /// Asks for the cache lines of a point some way ahead.
    void prefetch(int point) const {
        if (point < size - 1) {
            for (std::size_t m = 0; m < 5; ++m) {
                __builtin_prefetch(state_at(point) + m * state_pitch);
                __builtin_prefetch(change_at(point) + m * change_pitch);
            }
        }
    }
};

}  // namespace aferir::npb::AFERIR_ISA
