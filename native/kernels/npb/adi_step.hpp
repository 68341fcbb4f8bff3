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
    explicit AdiFields(int size)
        : layout(size),
          state(size, layout.outer_pitch, kLanes),
          change(size, layout.inner_pitch, 0),
          forcing(size, layout.inner_pitch, 0) {}

    static std::size_t bytes(int size) {
        const Layout layout(size);
        return Field::bytes(size, layout.outer_pitch) + 2 * Field::bytes(size, layout.inner_pitch);
    }

    Layout layout;
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
          turned_states_((fields.layout.outer_pitch + 1) * kPoint),
          turned_changes_(fields.layout.inner_pitch * kPoint),
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
                solve_x(k, j, std::min(kLanes, size_ - 1 - j));
            }
            for (int chunk = 0; chunk < fields_.layout.chunks; ++chunk) {
                solver_.template solve<1>(lines(k, 0, chunk, Along::kY), scratch_.data());
            }
        });
        member_.wait();
        for_share(1, size_ - 1, [&](int j) {
            for (int chunk = 0; chunk < fields_.layout.chunks; ++chunk) {
                solver_.template solve<2>(lines(0, j, chunk, Along::kZ), scratch_.data());
            }
        });
        member_.wait();
    }

  private:
    enum class Along { kY, kZ };

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

    [[nodiscard]] Lines lines(int k, int j, int chunk, Along along) const {
        const auto offset = static_cast<std::size_t>(chunk) * kLanes;
        const auto& state = fields_.state;
        const auto& change = fields_.change;
        const bool y = along == Along::kY;
        return {state.row(k, j) + offset,
                y ? state.row_step() : state.plane_step(),
                state.pitch(),
                change.row(k, j) + offset,
                y ? change.row_step() : change.plane_step(),
                change.pitch(),
                size_};
    }

    /// The right-hand side of up to kLanes rows of a plane, and the solution along them.
    void solve_x(int k, int j, int rows) {
        turn_states(k, j);
        for (int chunk = 0; chunk < fields_.layout.chunks; ++chunk) {
            alignas(kVectorBytes) std::array<double, kLanes * kPoint> sums{};
            right_side_.run(fields_.state, fields_.forcing, k, j, rows, chunk,
                            [&](int row, const Values& sum) __attribute__((always_inline)) {
                                store_values(&sums[static_cast<std::size_t>(row) * kPoint], kLanes,
                                             sum);
                            });
            double* const target =
                turned_changes_.data() + static_cast<std::size_t>(chunk) * kLanes * kPoint;
            for (std::size_t m = 0; m < 5; ++m) {
                turn(&sums[m * kLanes], kPoint, target + m * kLanes, kPoint);
            }
        }
        solver_.template solve<0>(turned_lines(), scratch_.data());
        clear_beyond();
        turn_back(fields_.change.row(k, j), rows);
    }

    [[nodiscard]] Lines turned_lines() const {
        return {turned_states_.data() + (kLanes - 1) * kPoint,
                kPoint,
                kLanes,
                turned_changes_.data() - kPoint,
                kPoint,
                kLanes,
                size_};
    }

    /// Transposes kLanes vectors that are a step apart.
    static void turn(const double* source, std::size_t source_step, double* target,
                     std::size_t target_step, int count = kLanes) {
        std::array<Vector, kLanes> square;
        unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
            square[i] = load(source + static_cast<std::size_t>(i) * source_step);
        });
        transpose(square);
        unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
            if (i < count) {
                store(target + static_cast<std::size_t>(i) * target_step, square[i]);
            }
        });
    }

    /// The whole pitch of kLanes rows. In place of those that the cube does not have, its last.
    void turn_states(int k, int j) {
        const auto& state = fields_.state;
        std::array<const double*, kLanes> rows;
        for (int lane = 0; lane < kLanes; ++lane) {
            rows[static_cast<std::size_t>(lane)] =
                state.row(k, std::min(j + lane, size_ - 1)) - kLanes;
        }
        for (std::size_t i = 0; i < state.pitch(); i += kLanes) {
            for (std::size_t m = 0; m < 5; ++m) {
                std::array<Vector, kLanes> square;
                unroll<kLanes>([&](auto lane) __attribute__((always_inline)) {
                    square[lane] = load(rows[lane] + m * state.pitch() + i);
                });
                transpose(square);
                unroll<kLanes>([&](auto point) __attribute__((always_inline)) {
                    store(turned_states_.data() + (i + point) * kPoint + m * kLanes, square[point]);
                });
            }
        }
    }

    /// No change beyond the last inner point of a row, where vectors reach past it.
    void clear_beyond() {
        const auto last = static_cast<std::size_t>(size_) - 2;
        std::fill(turned_changes_.data() + last * kPoint,
                  turned_changes_.data() + turned_changes_.size(), 0.0);
    }

    void turn_back(double* target, int rows) const {
        const auto pitch = fields_.layout.inner_pitch;
        for (std::size_t i = 0; i < pitch; i += kLanes) {
            for (std::size_t m = 0; m < 5; ++m) {
                turn(turned_changes_.data() + i * kPoint + m * kLanes, kPoint,
                     target + m * pitch + i, 5 * pitch, rows);
            }
        }
    }

    static constexpr std::size_t kPoint = std::size_t{5} * kLanes;  ///< doubles of a turned point

    const AdiFields& fields_;
    const ExactField& exact_;
    int size_;
    Member& member_;
    RightSide right_side_;
    Solver solver_;
    HugeArray<double> turned_states_;   ///< [i][component][row]
    HugeArray<double> turned_changes_;  ///< [i][component][row]
    HugeArray<double> scratch_;
};

}  // namespace aferir::npb::AFERIR_ISA
