// MG by message passing. The sweeps are those of the threads (npb/mg_sweep.hpp): as each redoes
// what it needs past its tile, a grid is exchanged once where the specification's steps would
// exchange three times. Small grids are done by every rank in full. Ranks of a single host exchange
// nothing.

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "common/team.hpp"
#include "npb/mg_cycle.hpp"
#include "npb/mg_problem.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/mg_halo.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_mg(ProblemClass problem, Ranks& ranks);

namespace {

/// Edge of the largest grid that every rank computes in full: the next is large enough to be swept,
/// or is the finest.
std::size_t common_size(std::size_t size) { return Levels::sweeps(size) ? 32 : size / 2; }

/// V-cycles of ranks of several hosts.
class SharedCycle {
  public:
    SharedCycle(const MgProblem& problem, Ranks& ranks)
        : problem_(problem),
          ranks_(ranks),
          shares_(ranks),
          common_(common_size(problem.size)),
          cycle_(common_, problem.smoother, member_),
          right_side_(shares_.make_grid(problem.size)),
          u_(shares_, ranks, problem.size),
          next_u_(shares_, ranks, problem.size),
          sweep_(problem.size) {
        for (auto size = 2 * common_.right_side.size(); size < problem.size; size *= 2) {
            corrections_.emplace_back(shares_, ranks, size);
            residuals_.push_back(shares_.make_grid(size));
        }
    }

    void set_up(const Charges& charges) {
        for (const auto* grid : {&right_side_, &u_.own(), &next_u_.own()}) {
            std::memset(grid->data().data(), 0, grid->data().size_bytes());
        }
        place(right_side_, charges);
    }

    /// r = v - A u on the finest grid, which also begins the next cycle; returns its L2 norm.
    double first_residual() {
        SweepPlan plan;
        plan.measured = true;
        plan.s = &residual_below(residuals_.size());
        return sweep_finest(plan);
    }

    /// One V-cycle and the residual after it; returns the residual's L2 norm if `last`, else 0.
    double iterate(bool last) {
        for (std::size_t level = residuals_.size(); level > 0; --level) {
            restrict_from(level - 1);
        }
        solve_common();
        for (std::size_t level = 0; level < residuals_.size(); ++level) {
            climb(level);
        }
        SweepPlan plan;
        plan.z = &correction_below(residuals_.size());
        plan.measured = last;
        plan.s = last ? nullptr : &residual_below(residuals_.size());
        u_halo_.finish();
        return sweep_finest(plan);
    }

  private:
    /// The grid one level below the shared grid `level`; below the lowest shared grid is the common
    /// one.
    Grid& residual_below(std::size_t level) {
        return level == 0 ? common_.residual.back() : residuals_[level - 1];
    }
    Grid& correction_below(std::size_t level) {
        return level == 0 ? common_.correction.back() : corrections_[level - 1].own();
    }

    void restrict_from(std::size_t level) {
        const auto& fine = residuals_[level];
        residual_halo_.exchange(fine, 1, 1);
        const auto& coarse = residual_below(level);
        const auto planes = shares_.planes(coarse.size());
        const auto rows = shares_.rows(coarse.size());
        for (auto plane = planes.begin; plane < planes.end; ++plane) {
            for (auto row = rows.begin; row < rows.end; ++row) {
                with_width(coarse.size(), [&](auto width) {
                    restrict_row<width>(coarse.row(plane, row),
                                        fine.around(2 * plane + 1, 2 * row + 1), coarse.size());
                });
            }
        }
    }

    /// Gathers the whole residual of the common grid in all ranks, and solves for it.
    void solve_common() {
        const auto& residual = common_.residual.back();
        const auto size = residual.size();
        part_.clear();
        for_rows_of(ranks_.id(),
                    [&](const double* row) { part_.insert(part_.end(), row, row + size); });
        all_.resize(part_.size() * static_cast<std::size_t>(ranks_.count()));
        ranks_.gather(std::span<const double>(part_), std::span(all_));
        const double* source = all_.data();
        for (int rank = 0; rank < ranks_.count(); ++rank) {
            for_rows_of(rank, [&](double* row) {
                std::memcpy(row, source, size * sizeof(double));
                wrap_row(row, size);
                source += size;
            });
        }
        cycle_.solve();
    }

    /// Calls `use` with each row of the common residual that was restricted by `rank`.
    template <typename Use>
    void for_rows_of(int rank, const Use& use) const {
        const auto& residual = common_.residual.back();
        const auto planes = shares_.planes_of(rank, residual.size());
        const auto rows = shares_.rows_of(rank, residual.size());
        for (auto plane = planes.begin; plane < planes.end; ++plane) {
            for (auto row = rows.begin; row < rows.end; ++row) {
                use(residual.row(plane, row));
            }
        }
    }

    /// u = Q z, then one smoothing, on a shared grid below the finest.
    void climb(std::size_t level) {
        auto& u = corrections_[level];
        SweepPlan plan;
        plan.z = &correction_below(level);
        plan.v = &residuals_[level];
        plan.result = &u.own();
        plan.copies = u.rims();
        plan.smoother = problem_.smoother;
        const auto size = u.own().size();
        (void)sweep_.run(plan, shares_.planes(size), shares_.rows(size));
        correction_halo_.exchange(u.own(), 2, 2);
    }

    double sweep_finest(SweepPlan plan) {
        plan.u = &u_.own();
        plan.v = &right_side_;
        plan.result = &next_u_.own();
        plan.copies = next_u_.rims();
        plan.streamed = Levels::sweeps(problem_.size);
        plan.smoother = problem_.smoother;
        const double squares =
            sweep_.run(plan, shares_.planes(problem_.size), shares_.rows(problem_.size));
        if (plan.z != nullptr) {
            std::swap(u_, next_u_);
        }
        if (plan.s != nullptr) {
            u_halo_.start(u_.own(), Shares::kBefore, Shares::kAfter);  // under way until the next
        }
        if (!plan.measured) {
            return 0;
        }
        const auto edge = static_cast<double>(problem_.size);
        return std::sqrt(ranks_.sum(squares) / (edge * edge * edge));
    }

    const MgProblem& problem_;
    Ranks& ranks_;
    Shares shares_;
    Meeting meeting_{1};
    Member member_{meeting_};
    Levels common_;  ///< the small grids, which every rank has in full
    Cycle<Member> cycle_;
    std::vector<SharedGrid> corrections_;
    std::vector<Grid> residuals_;
    Grid right_side_;
    SharedGrid u_;
    SharedGrid next_u_;
    Sweep sweep_;
    Halo residual_halo_{shares_, ranks_, false};
    Halo correction_halo_{shares_, ranks_, true};
    Halo u_halo_{shares_, ranks_, true};
    std::vector<double> part_;
    std::vector<double> all_;
};

/// Ranks that share memory have all grids in common, and work as threads do.
class MateCycle {
  public:
    MateCycle(const MgProblem& problem, const Ranks& ranks)
        : levels_(problem.size,
                  [&](std::size_t values) { return common_array<double>(ranks, values); }),
          cycle_(levels_, problem.smoother, ranks) {}

    void set_up(const Charges& charges) { cycle_.set_up(charges); }
    double first_residual() { return cycle_.first_residual(); }
    double iterate(bool last) { return cycle_.iterate(last); }

  private:
    Levels levels_;
    Cycle<const Ranks> cycle_;
};

template <typename AnyCycle>
double run_cycles(const MgProblem& problem, AnyCycle cycle, Ranks& ranks, Outcome& outcome) {
    const auto charges = find_charges(problem.size, 1);
    cycle.set_up(charges);
    (void)cycle.first_residual();
    (void)cycle.iterate(true);  // untimed, to touch all code and data
    cycle.set_up(charges);
    ranks.wait();
    const double start = Ranks::seconds();
    double norm = cycle.first_residual();
    for (int iteration = 1; iteration <= problem.iterations; ++iteration) {
        norm = cycle.iterate(iteration == problem.iterations);
    }
    outcome.seconds = Ranks::seconds() - start;
    return norm;
}

/// Requires memory for 10/3 times the finest grid (three grids and all coarser levels): in common,
/// or for each rank's part with its rims.
void require_memory_for(std::size_t size, const Ranks& ranks) {
    const auto grids = [&](std::size_t planes, std::size_t rows) {
        return planes * rows * (size + 2 * kGhosts) * sizeof(double) * 10 / 3;
    };
    if (ranks.hosts().members.size() == 1) {
        ranks.require_memory(0, grids(size, size));
        return;
    }
    const Shares shares(ranks);
    constexpr std::size_t kRim = Shares::kBefore + Shares::kAfter;
    ranks.require_memory(grids(static_cast<std::size_t>(shares.planes(size).size()) + kRim,
                               static_cast<std::size_t>(shares.rows(size).size()) + kRim),
                         0);
}

}  // namespace

Outcome run_mpi_mg(ProblemClass problem_class, Ranks& ranks) {
    const auto problem = mg_problem(problem_class);
    // A rank's part of a shared grid must be at least as long as the rim that its neighbours read.
    const auto most = static_cast<int>(2 * common_size(problem.size)) / 4;
    require_power_of_two("MG", ranks.count(), most * most);
    require_memory_for(problem.size, ranks);
    Outcome outcome;
    const double norm =
        ranks.hosts().members.size() == 1
            ? run_cycles<MateCycle&&>(problem, MateCycle(problem, ranks), ranks, outcome)
            : run_cycles<SharedCycle&&>(problem, SharedCycle(problem, ranks), ranks, outcome);
    outcome.iterations = problem.iterations;
    outcome.operations = mg_operations(problem);
    verify_mg(problem, norm, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
