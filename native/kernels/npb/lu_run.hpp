#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "npb/lu_fronts.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_sweep.hpp"
#include "npb/pseudo_application.hpp"
#include "npb/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// What a run does.
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

/// A block is the least that a thread can have of a front.
inline int working_threads(const Fronts& fronts, int threads) {
    return std::min(threads, static_cast<int>(fronts.inner_blocks()));
}

/// The run of one thread; all threads share fields and relays.
template <int W>
class LuThread {
  public:
    LuThread(LuFields& fields, const ExactField& exact, const LuPlan& plan, Member& member,
             std::vector<std::unique_ptr<Relay>>& relays)
        : fields_(fields),
          exact_(exact),
          member_(member),
          working_(working_threads(fields.fronts, plan.threads)),
          sweep_(fields, LuFactors(plan.size, plan.time_step, kRelaxation), share(),
                 *relays[index(member.id())],
                 member.id() > 0 ? relays[index(member.id() - 1)].get() : nullptr,
                 member.id() + 1 < working_ ? relays[index(member.id() + 1)].get() : nullptr,
                 spins(member.count())) {}

    /// The forcing, and the initial state.
    void prepare() {
        fill_padding();
        member_.wait();
        set_states([&](const Place& place) { return exact_.at(place); });
        member_.wait();
        if (works()) {
            sweep_.force();
        }
        member_.wait();
        set_initial();
    }

    void set_initial() {
        set_states([&](const Place& place) { return exact_.initial(place); });
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
    static std::size_t index(int thread) { return static_cast<std::size_t>(thread); }

    [[nodiscard]] bool works() const { return member_.id() < working_; }

    /// Nothing for a thread beyond the last that works.
    [[nodiscard]] LuShare share() const {
        return works() ? fields_.fronts.share(member_.id(), working_) : LuShare{0, 0};
    }

    /// Density 1 wherever there is no point: lanes of the padding must not divide by zero.
    void fill_padding() {
        const auto& fronts = fields_.fronts;
        for (auto front = fronts.lowest() + member_.id(); front < fronts.highest();
             front += member_.count()) {
            for (std::ptrdiff_t block = 0; block < fronts.blocks(); ++block) {
                double* const u = fields_.u.at(front, block);
                std::fill_n(u, W, 1.0);
                std::fill_n(u + std::ptrdiff_t{5} * W, W, 1.0);
            }
        }
    }

    template <typename StateAt>
    void set_states(const StateAt& state_at_place) {
        const int size = exact_.size();
        for (int k = member_.id(); k < size; k += member_.count()) {
            for (int j = 0; j < size; ++j) {
                for (int i = 0; i < size; ++i) {
                    const Place place{i, j, k};
                    const auto state = state_at_place(place);
                    double* const u = fields_.u.at(place);
                    for (std::size_t m = 0; m < state.size(); ++m) {
                        u[m * W] = state[m];
                    }
                    u[std::ptrdiff_t{5} * W] = 1 / state[0];
                }
            }
        }
    }

    LuFields& fields_;
    const ExactField& exact_;
    Member& member_;
    int working_;
    LuSweep<W> sweep_;
};

inline State sum_of_squares(const Fronts& fronts, std::span<const double> squares) {
    const auto lanes = static_cast<std::size_t>(fronts.lanes());
    State sums{};
    for (std::size_t place = 0; place < squares.size(); ++place) {
        sums[place / lanes % sums.size()] += squares[place];
    }
    return sums;
}

template <int W>
LuResult run_threads(LuFields& fields, const ExactField& exact, const LuPlan& plan) {
    std::vector<std::unique_ptr<Relay>> relays;
    relays.reserve(static_cast<std::size_t>(plan.threads));
    for (int thread = 0; thread < plan.threads; ++thread) {
        relays.push_back(std::make_unique<Relay>(fields.fronts));
    }
    std::vector<double> squares(static_cast<std::size_t>(fields.fronts.inner_blocks()) * 5 * W);
    Meeting meeting(plan.threads);
    LuResult result;
#pragma omp parallel num_threads(plan.threads)
    {
        Member member(meeting);
        LuThread<W> thread(fields, exact, plan, member, relays);
        thread.prepare();
        thread.step();  // untimed, to touch all code and data
        thread.set_initial();
        const double start = omp_get_wtime();
        for (int iteration = 0; iteration < plan.iterations; ++iteration) {
            thread.step();
        }
        thread.add_squares(squares);
#pragma omp master
        {
            result.residual = root_mean_square(sum_of_squares(fields.fronts, squares), plan.size);
            for (auto& norm : result.residual) {
                norm /= plan.time_step;
            }
            result.seconds = omp_get_wtime() - start;
        }
    }
    return result;
}

/// Runs the plan in blocks of W columns and calls `check(result, field)`; `field(Place)` gives the
/// final state of a point.
template <int W, typename Check>
void run_in_blocks(const LuPlan& plan, const ExactField& exact, const Check& check) {
    const Fronts fronts(plan.size, W);
    LuFields fields(fronts, working_threads(fronts, plan.threads));
    const auto result = run_threads<W>(fields, exact, plan);
    check(result, [&](const Place& place) { return state_at(fields, place); });
}

/// The same in the widest blocks of which a front has at least one for each thread.
template <typename Check>
void run_plan(const LuPlan& plan, const ExactField& exact, const Check& check) {
    const auto enough = [&](int width) {
        return Fronts(plan.size, width).inner_blocks() >= plan.threads;
    };
    // Wide blocks of a small grid would be padding for the most part.
    if (kLanes > 4 && plan.size > 3 * kLanes && enough(kLanes)) {
        run_in_blocks<kLanes>(plan, exact, check);
    } else if (kLanes >= 4 && enough(4)) {
        run_in_blocks<std::min<std::ptrdiff_t>(kLanes, 4)>(plan, exact, check);
    } else {
        run_in_blocks<2>(plan, exact, check);
    }
}

}  // namespace aferir::npb::AFERIR_ISA
