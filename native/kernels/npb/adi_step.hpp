#pragma once

// One time step of BT or SP in two passes over the cube, with a barrier after each: planes of
// constant k, then planes of constant j.

#include <cstddef>
#include <vector>

#include "common/team.hpp"
#include "npb/adi_field.hpp"
#include "npb/adi_planes.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Fields that all threads share.
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
          planes_(fields.state, fields.forcing, size_, time_step),
          change_rows_(index(size_)) {
        for (int k = 0; k < size_; ++k) {
            z_states_.push_back(fields.state.block(k, 0, 0));
            z_changes_.push_back(fields.change.block(k, 0, 0));
        }
    }

    /// Sets this thread's planes of the forcing, which also places their pages.
    void set_forcing() const {
        for_share(0, size_,
                  [&](int k) { npb::AFERIR_ISA::set_forcing(fields_.forcing, exact_, k); });
    }

    /// Sets the state to the initial field.
    void set_state() {
        for_share(0, size_, [&](int k) { npb::AFERIR_ISA::set_state(fields_.state, exact_, k); });
        member_.wait();
    }

    void run() {
        for_share(1, size_ - 1, [&](int k) {
            for (int j = 0; j < size_; ++j) {
                change_rows_[index(j)] = fields_.change.block(k, j, 0);
            }
            planes_.solve_xy(k, change_rows_.data());
        });
        member_.wait();
        for_share(1, size_ - 1, [&](int j) {
            planes_.solve_z(z_states_.data(), z_changes_.data(),
                            index(j) * fields_.state.row_step());
        });
        member_.wait();
    }

  private:
    static std::size_t index(int value) { return static_cast<std::size_t>(value); }

    template <typename Work>
    void for_share(int begin, int end, const Work& work) const {
        const int first = begin + (end - begin) * member_.id() / member_.count();
        const int last = begin + (end - begin) * (member_.id() + 1) / member_.count();
        for (int place = first; place < last; ++place) {
            work(place);
        }
    }

    const AdiFields& fields_;
    const ExactField& exact_;
    int size_;
    Member& member_;
    AdiPlanes<Solver> planes_;
    std::vector<double*> z_states_;     ///< block 0 of row 0 of each plane
    std::vector<double*> z_changes_;    ///< likewise
    std::vector<double*> change_rows_;  ///< block 0 of each row of a plane
};

}  // namespace aferir::npb::AFERIR_ISA
