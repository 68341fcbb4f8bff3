#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "common/awaited.hpp"
#include "common/team.hpp"
#include "npb/lu_fronts.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_relay.hpp"
#include "npb/lu_sweep.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Parameters of a run.
struct LuPlan {
    int size;
    double time_step;
    int iterations;
    int threads;
};

struct LuResult {
    double seconds = 0;  ///< iterations, and the norm of the residual
    State residual{};    ///< root mean square of R(U) + H
};

inline State state_at(const LuFields& fields, const Place& place) {
    const double* const u = fields.u.at(place);
    State state{};
    for (std::size_t m = 0; m < state.size(); ++m) {
        state[m] = u[static_cast<std::ptrdiff_t>(m) * fields.fronts.lanes()];
    }
    return state;
}

/// Number of threads with work: a block is the smallest part of a front.
inline int working_threads(const Fronts& fronts, int threads) {
    return std::min(threads, static_cast<int>(fronts.inner_blocks()));
}

/// Sets the density to 1 where there is no point, in every `step`-th front from the `first`-th on:
/// otherwise the padding's lanes would divide by zero.
template <int W>
void fill_padding(LuFields& fields, int first, int step) {
    const auto& fronts = fields.fronts;
    for (auto front = fronts.lowest() + first; front < fronts.highest(); front += step) {
        for (std::ptrdiff_t block = 0; block < fronts.blocks(); ++block) {
            double* const u = fields.u.at(front, block);
            std::fill_n(u, W, 1.0);
            std::fill_n(u + std::ptrdiff_t{5} * W, W, 1.0);
        }
    }
}

/// Sets the states of every `step`-th plane k from `first` on, rims included.
template <int W, typename StateAt>
void set_states(LuFields& fields, int first, int step, const StateAt& state_at_place) {
    const auto& pencil = fields.fronts.pencil();
    const auto [is, js] = std::pair(fields.fronts.reach(pencil.i), fields.fronts.reach(pencil.j));
    for (int k = first; k < pencil.size; k += step) {
        for (int j = js.begin; j < js.end; ++j) {
            for (int i = is.begin; i < is.end; ++i) {
                const Place place{i, j, k};
                const auto state = state_at_place(place);
                double* const u = fields.u.at(place);
                for (std::size_t m = 0; m < state.size(); ++m) {
                    u[m * W] = state[m];
                }
                u[std::ptrdiff_t{5} * W] = 1 / state[0];
            }
        }
    }
}

/// One worker's part of a run; all workers share fields and relays. `Member` knows the worker's
/// number, and waits for the others.
template <int W, typename Member>
class LuWorker {
  public:
    LuWorker(LuFields& fields, const ExactField& exact, double time_step, Member& member,
             const Relays& relays, Patience patience)
        : fields_(fields),
          exact_(exact),
          member_(member),
          working_(working_threads(fields.fronts, member.count())),
          links_(fields.fronts, relays, member.id(), working_, patience),
          sweep_(fields, LuFactors(exact.size(), time_step, kRelaxation), share(), links_) {}

    /// Computes the forcing and the initial state.
    void prepare() {
        fill_padding<W>(fields_, member_.id(), member_.count());
        member_.wait();
        set_states<W>(fields_, member_.id(), member_.count(),
                      [&](const Place& place) { return exact_.at(place); });
        member_.wait();
        if (works()) {
            sweep_.force();
        }
        member_.wait();
        set_initial();
    }

    void set_initial() {
        set_states<W>(fields_, member_.id(), member_.count(),
                      [&](const Place& place) { return exact_.initial(place); });
        member_.wait();
    }

    void step() {
        if (works()) {
            sweep_.lower();
        }
        member_.wait();
        if (works()) {
            sweep_.upper();
        }
        member_.wait();
    }

    void add_squares(std::span<double> sums) {
        if (works()) {
            sweep_.add_squares(sums);
        }
        member_.wait();
    }

  private:
    [[nodiscard]] bool works() const { return member_.id() < working_; }

    /// Blocks of this worker; empty for workers beyond the last one with work.
    [[nodiscard]] LuShare share() const {
        return works() ? fields_.fronts.share(member_.id(), working_) : LuShare{0, 0};
    }

    LuFields& fields_;
    const ExactField& exact_;
    Member& member_;
    int working_;
    RelayLinks links_;
    LuSweep<W, RelayLinks> sweep_;
};

inline State sum_of_squares(const Fronts& fronts, std::span<const double> squares) {
    const auto lanes = static_cast<std::size_t>(fronts.lanes());
    State sums{};
    for (std::size_t place = 0; place < squares.size(); ++place) {
        sums[place / lanes % sums.size()] += squares[place];
    }
    return sums;
}

/// Root mean square of R(U) + H, from sums of squares that contain the time step as a factor.
inline State residual_of(const State& squares, int size, double time_step) {
    auto norms = root_mean_square(squares, size);
    for (auto& norm : norms) {
        norm /= time_step;
    }
    return norms;
}

/// Runs the plan in threads, in blocks of W columns; compiled in lu.cpp.
template <int W>
LuResult run_threads(LuFields& fields, const ExactField& exact, const LuPlan& plan);

/// Runs the plan in blocks of W columns and calls `check(result, field)`; `field(Place)` gives the
/// final state of a point.
template <int W, typename Check>
void run_in_blocks(const LuPlan& plan, const ExactField& exact, const Check& check) {
    const Fronts fronts(plan.size, W);
    LuFields fields(fronts, working_threads(fronts, plan.threads));
    const auto result = run_threads<W>(fields, exact, plan);
    check(result, [&](const Place& place) { return state_at(fields, place); });
}

/// Calls `body` with the width, as a constant, of the widest blocks of which a cube's front has at
/// least `parts`.
template <typename Body>
void with_block_width(int size, int parts, const Body& body) {
    const auto enough = [&](int width) { return Fronts(size, width).inner_blocks() >= parts; };
    // In a small grid, wide blocks would consist mostly of padding.
    if (kLanes > 4 && size > 3 * kLanes && enough(kLanes)) {
        body(Constant<kLanes>{});
    } else if (kLanes >= 4 && enough(4)) {
        body(Constant<std::min<std::ptrdiff_t>(kLanes, 4)>{});
    } else {
        body(Constant<2>{});
    }
}

/// Runs in the widest blocks of which a front has at least one for each thread.
template <typename Check>
void run_plan(const LuPlan& plan, const ExactField& exact, const Check& check) {
    with_block_width(plan.size, plan.threads,
                     [&](auto width) { run_in_blocks<width>(plan, exact, check); });
}

}  // namespace aferir::npb::AFERIR_ISA
