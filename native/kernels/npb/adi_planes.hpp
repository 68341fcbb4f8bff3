#pragma once

// Parts of a time step of BT and SP: those for a plane of constant k (right-hand side, solves along
// x and y, while the plane is in the cache) and those for a plane of constant j (solves along z,
// and the new state).

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "common/memory.hpp"
#include "npb/adi_field.hpp"
#include "npb/adi_right_side.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Sets plane k of the forcing.
inline void set_forcing(const Field& forcing, const ExactField& exact, int k) {
    forcing.fill(k, {});
    for (int j = forcing.rows().begin; j < forcing.rows().end; ++j) {
        for (int i = 1; i < exact.size() - 1; ++i) {
            forcing.set({i, j, k}, exact.forcing({i, j, k}));
        }
    }
}

/// Sets plane k of the state to the initial field.
inline void set_state(const Field& state, const ExactField& exact, int k) {
    // Padding takes part in divisions and roots, and so gets a state of positive pressure.
    state.fill(k, {1, 1, 1, 1, 3});
    for (int j = state.rows().begin; j < state.rows().end; ++j) {
        for (int i = 0; i < exact.size(); ++i) {
            state.set({i, j, k}, exact.initial({i, j, k}));
        }
    }
}

/// Work of one thread; `Solver` is BtLines or SpLines.
template <typename Solver>
class AdiPlanes {
  public:
    /// The fields have whole planes: those of every k for which solve_xy() is called, and their
    /// neighbours.
    AdiPlanes(const Field& state, const Field& forcing, int size, double time_step)
        : state_(state),
          forcing_(forcing),
          size_(size),
          right_side_(size, time_step),
          solver_(right_side_, time_step),
          state_rows_(static_cast<std::size_t>(size)),
          turned_states_(static_cast<std::size_t>(state.blocks() + 1) * kLanes * kBlock),
          turned_changes_(static_cast<std::size_t>(state.inner_blocks() + 1) * kLanes * kBlock),
          scratch_((static_cast<std::size_t>(size) + 1) * Solver::kScratch) {}

    /// Computes the right-hand side of plane k, solves along x and y, and writes the result to
    /// `changes`, which points to block 0 of the row of each j.
    void solve_xy(int k, double* const* changes) {
        for (int j = 1; j < size_ - 1; j += kLanes) {
            solve_x(k, j, std::min(static_cast<int>(kLanes), size_ - 1 - j), changes);
        }
        for (int j = 0; j < size_; ++j) {
            state_rows_[static_cast<std::size_t>(j)] = state_.block(k, j, 0);
        }
        for (int block = 0; block < state_.inner_blocks(); ++block) {
            solver_.template solve<1>(RowLines{state_rows_.data(), changes, offset_of(block)},
                                      scratch_.data());
        }
    }

    /// Solves along z for all points of a row j. `states` and `changes` point to a place in each
    /// plane; the row's block 0 is `offset` doubles further.
    void solve_z(double* const* states, double* const* changes, std::size_t offset) {
        for (int block = 0; block < state_.inner_blocks(); ++block) {
            solver_.template solve<2>(RowLines{states, changes, offset + offset_of(block)},
                                      scratch_.data());
        }
    }

  private:
    static std::size_t offset_of(int block) { return static_cast<std::size_t>(block) * kBlock; }

    /// The right-hand side of up to kLanes rows of a plane, and the solution along them.
    void solve_x(int k, int j, int rows, double* const* changes) {
        turn_states(k, j);
        // Rows beyond the cube are solved as well, without effect: any finite sums will do.
        alignas(kVectorBytes) std::array<double, kLanes * kBlock> sums{};
        for (int block = 0; block < state_.inner_blocks(); ++block) {
            right_side_.run(state_, forcing_, k, j, rows, block, sums.data());
            turn([&](int row) { return sums.data() + static_cast<std::size_t>(row) * kBlock; },
                 [&](int point) { return turned_change(block, point); }, kLanes);
        }
        solver_.template solve<0>(
            {turned_states_.data() + (kLanes - 1) * kBlock, turned_changes_.data(), kBlock, kBlock},
            scratch_.data());
        // Vectors that extend beyond the last inner point of a row have no change there.
        std::fill(turned_changes_.data() + (static_cast<std::size_t>(size_) - 1) * kBlock,
                  turned_changes_.data() + turned_changes_.size(), 0.0);
        for (int block = 0; block < state_.inner_blocks(); ++block) {
            turn([&](int point) { return turned_change(block, point); },
                 [&](int row) { return changes[j + row] + offset_of(block); }, rows);
        }
    }

    /// Transposes the states of kLanes rows into lines along x; rows beyond the cube are replaced
    /// by its last one.
    void turn_states(int k, int j) {
        for (int block = 0; block < state_.blocks(); ++block) {
            turn([&](int row) { return state_.block(k, std::min(j + row, size_ - 1), block - 1); },
                 [&](int point) {
                     return turned_states_.data() +
                            static_cast<std::size_t>(block * kLanes + point) * kBlock;
                 },
                 kLanes);
        }
    }

    /// Change of the inner point 1 + block kLanes + point; the block of point 0 comes first.
    [[nodiscard]] double* turned_change(int block, int point) {
        return turned_changes_.data() +
               static_cast<std::size_t>(block * kLanes + point + 1) * kBlock;
    }

    /// Exchanges lanes and blocks: lane b of block a goes to lane a of block b. `source` and
    /// `target` give the kLanes blocks, of which the first `count` are written.
    template <typename Source, typename Target>
    [[gnu::always_inline]] static void turn(const Source& source, const Target& target, int count) {
        for (std::size_t m = 0; m < 5; ++m) {
            std::array<Vector, kLanes> square;
            unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
                square[i] = load(source(i) + m * kLanes);
            });
            transpose(square);
            unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
                if (i < count) {
                    store(target(i) + m * kLanes, square[i]);
                }
            });
        }
    }

    const Field& state_;
    const Field& forcing_;
    int size_;
    RightSide right_side_;
    Solver solver_;
    std::vector<double*> state_rows_;
    HugeArray<double> turned_states_;   ///< a block is kLanes neighbours in j
    HugeArray<double> turned_changes_;  ///< likewise
    HugeArray<double> scratch_;
};

}  // namespace aferir::npb::AFERIR_ISA
