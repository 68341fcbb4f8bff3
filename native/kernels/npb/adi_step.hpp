#pragma once

// One time step of BT or SP in two passes over the cube, with a barrier after each: planes of
// constant k (right-hand side, solves along x and y, while the plane is in the cache), then planes
// of constant j (solves along z, and the new state).

#include <algorithm>
#include <cstddef>

#include "common/memory.hpp"
#include "npb/adi_field.hpp"
#include "npb/adi_right_side.hpp"
#include "npb/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// What all threads share.
struct AdiFields {
    explicit AdiFields(int size) : state(size), change(size), forcing(size) {}

    static std::size_t bytes(int size) { return 3 * Field::bytes(size); }

    Field state;
    Field change;
    Field forcing;
};

/// One thread's part in the time steps; `Solver` is BtLines or SpLines.
template <typename Solver>
class AdiStep {
  public:
    AdiStep(const AdiFields& fields, const ExactField& exact, double time_step, Member& member)
        : fields_(fields),
          exact_(exact),
          size_(exact.size()),
          member_(member),
          right_side_(size_, time_step),
          solver_(right_side_, time_step),
          turned_states_(static_cast<std::size_t>(fields.state.blocks() + 1) * kLanes * kBlock),
          turned_changes_(static_cast<std::size_t>(fields.state.inner_blocks() + 1) * kLanes *
                          kBlock),
          scratch_((static_cast<std::size_t>(size_) + 1) * Solver::kScratch) {}

    /// Sets this thread's planes of the forcing, which also places their pages.
    void set_forcing() const {
        for_share(0, size_, [&](int k) {
            fields_.forcing.fill(k, {});
            for_row(k, [&](const Place& place) {
                if (place[0] > 0 && place[0] < size_ - 1) {
                    fields_.forcing.set(place, exact_.forcing(place));
                }
            });
        });
    }

    /// Sets the state to the initial field.
    void set_state() {
        for_share(0, size_, [&](int k) {
            // Padding takes part in divisions and roots: a state of positive pressure.
            fields_.state.fill(k, {1, 1, 1, 1, 3});
            for_row(k,
                    [&](const Place& place) { fields_.state.set(place, exact_.initial(place)); });
        });
        member_.wait();
    }

    void run() {
        for_share(1, size_ - 1, [&](int k) {
            for (int j = 1; j < size_ - 1; j += kLanes) {
                solve_x(k, j, std::min(static_cast<int>(kLanes), size_ - 1 - j));
            }
            for (int block = 0; block < fields_.state.inner_blocks(); ++block) {
                solver_.template solve<1>(lines(k, 0, block, &Field::row_step), scratch_.data());
            }
        });
        member_.wait();
        for_share(1, size_ - 1, [&](int j) {
            for (int block = 0; block < fields_.state.inner_blocks(); ++block) {
                solver_.template solve<2>(lines(0, j, block, &Field::plane_step), scratch_.data());
            }
        });
        member_.wait();
    }

  private:
    template <typename Work>
    void for_share(int begin, int end, const Work& work) const {
        const int first = begin + (end - begin) * member_.id() / member_.count();
        const int last = begin + (end - begin) * (member_.id() + 1) / member_.count();
        for (int index = first; index < last; ++index) {
            work(index);
        }
    }

    template <typename Work>
    void for_row(int k, const Work& work) const {
        for (int j = 0; j < size_; ++j) {
            for (int i = 0; i < size_; ++i) {
                work(Place{i, j, k});
            }
        }
    }

    /// From a block on, along the axis with that step.
    [[nodiscard]] Lines lines(int k, int j, int block, std::size_t (Field::*step)() const) const {
        const auto& [state, change, forcing] = fields_;
        return {state.block(k, j, block), change.block(k, j, block), (state.*step)(),
                (change.*step)()};
    }

    /// The right-hand side of up to kLanes rows of a plane, and the solution along them.
    void solve_x(int k, int j, int rows) {
        turn_states(k, j);
        // Rows that the cube does not have are solved as well, for nothing: with any finite sums.
        alignas(kVectorBytes) std::array<double, kLanes * kBlock> sums{};
        for (int block = 0; block < fields_.state.inner_blocks(); ++block) {
            right_side_.run(fields_.state, fields_.forcing, k, j, rows, block, sums.data());
            turn([&](int row) { return sums.data() + static_cast<std::size_t>(row) * kBlock; },
                 [&](int point) { return turned_change(block, point); }, kLanes);
        }
        solver_.template solve<0>(
            {turned_states_.data() + (kLanes - 1) * kBlock, turned_changes_.data(), kBlock, kBlock},
            scratch_.data());
        // Where vectors reach past the last inner point of a row, there is no change.
        std::fill(turned_changes_.data() + (static_cast<std::size_t>(size_) - 1) * kBlock,
                  turned_changes_.data() + turned_changes_.size(), 0.0);
        for (int block = 0; block < fields_.state.inner_blocks(); ++block) {
            turn([&](int point) { return turned_change(block, point); },
                 [&](int row) { return fields_.change.block(k, j + row, block); }, rows);
        }
    }

    /// kLanes rows; in place of those that the cube does not have, its last.
    void turn_states(int k, int j) {
        for (int block = 0; block < fields_.state.blocks(); ++block) {
            turn(
                [&](int row) {
                    return fields_.state.block(k, std::min(j + row, size_ - 1), block - 1);
                },
                [&](int point) {
                    return turned_states_.data() +
                           static_cast<std::size_t>(block * kLanes + point) * kBlock;
                },
                kLanes);
        }
    }

    /// Of the inner point 1 + block kLanes + point; the block of point 0 comes first.
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

    const AdiFields& fields_;
    const ExactField& exact_;
    int size_;
    Member& member_;
    RightSide right_side_;
    Solver solver_;
    HugeArray<double> turned_states_;   ///< a block is kLanes neighbours in j
    HugeArray<double> turned_changes_;  ///< likewise
    HugeArray<double> scratch_;
};

}  // namespace aferir::npb::AFERIR_ISA
