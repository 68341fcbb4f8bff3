// LU by message passing: as in NPB 3, each process has a pencil of the cube along k. Processes
// follow one another through the fronts, along i and along j, as threads do along j. If all
// processes share memory, they do exactly what threads do.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/lu_problem.hpp"
#include "npb/lu_relay.hpp"
#include "npb/lu_run.hpp"
#include "npb/lu_sweep.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/lu_halo.hpp"
#include "npb_mpi/lu_links.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_lu(ProblemClass problem_class, Ranks& ranks);

namespace {

/// The rank's share of the cube's columns: a range of i, and a range of j that consists of whole
/// blocks of W columns (except at the end).
template <int W>
Pencil pencil_of(int size, const ProcessGrid& grid, int rank) {
    const auto is = share_of(static_cast<std::size_t>(size - 2), grid.row_of(rank), grid.rows);
    const auto blocks = Fronts(size, W).share(grid.column_of(rank), grid.columns);
    const auto column = [&](std::ptrdiff_t block) {
        return 1 + std::min(static_cast<int>(block * W), size - 2);
    };
    return {size,
            {1 + static_cast<int>(is.begin), 1 + static_cast<int>(is.end)},
            {column(blocks.begin), column(blocks.end)}};
}

Beside beside_along_i(const ProcessGrid& grid, int rank) {
    return {grid.row_of(rank) > 0 ? rank - grid.columns : -1,
            grid.row_of(rank) + 1 < grid.rows ? rank + grid.columns : -1};
}

Beside beside_along_j(const ProcessGrid& grid, int rank) {
    return {grid.column_of(rank) > 0 ? rank - 1 : -1,
            grid.column_of(rank) + 1 < grid.columns ? rank + 1 : -1};
}

/// A process beside others to which it sends messages.
template <int W>
class LuRank {
  public:
    LuRank(const LuProblem& problem, const ExactField& exact, const ProcessGrid& grid, Ranks& ranks)
        : exact_(exact),
          fields_(Fronts(pencil_of<W>(problem.size, grid, ranks.id()), W), 1),
          links_(fields_.fronts, beside_along_i(grid, ranks.id()),
                 beside_along_j(grid, ranks.id())),
          halo_(fields_.u, fields_.fronts, beside_along_i(grid, ranks.id()),
                beside_along_j(grid, ranks.id())),
          sweep_(fields_, LuFactors(problem.size, problem.time_step, kRelaxation),
                 fields_.fronts.share(0, 1), links_) {}

    void prepare() {
        fill_padding<W>(fields_, 0, 1);
        set_states<W>(fields_, 0, 1, [&](const Place& place) { return exact_.at(place); });
        sweep_.force();
        set_initial();
    }

    void set_initial() {
        set_states<W>(fields_, 0, 1, [&](const Place& place) { return exact_.initial(place); });
    }

    void step() {
        sweep_.lower();
        sweep_.upper();
        halo_.exchange();
    }

    void add_squares(std::span<double> squares) { sweep_.add_squares(squares); }

    [[nodiscard]] const LuFields& fields() const { return fields_; }
    /// The inner points that this process verifies.
    [[nodiscard]] Box own() const {
        const auto& [size, i, j] = fields_.fronts.pencil();
        return {i, j, {1, size - 1}};
    }

  private:
    const ExactField& exact_;
    LuFields fields_;
    MessageLinks links_;
    LuHalo<W> halo_;
    LuSweep<W, MessageLinks> sweep_;
};

/// A process that has all of the cube in common with the others: it does what a thread does.
template <int W>
class LuMate {
  public:
    LuMate(const LuProblem& problem, const ExactField& exact, const Ranks& ranks)
        : own_{inner_box(problem.size)},
          fields_(Fronts(problem.size, W), working_threads(Fronts(problem.size, W), ranks.count()),
                  [&](std::size_t size) { return common_array<double>(ranks, size); }),
          relays_(fields_.fronts,
                  common_array<double>(ranks, Relays::values(fields_.fronts, ranks.count()))),
          worker_(fields_, exact, problem.time_step, ranks, relays_, ranks.patience()) {
        const auto [begin, end] =
            share_of(static_cast<std::size_t>(problem.size - 2), ranks.id(), ranks.count());
        own_[2] = {1 + static_cast<int>(begin), 1 + static_cast<int>(end)};
    }

    void prepare() { worker_.prepare(); }
    void set_initial() { worker_.set_initial(); }
    void step() { worker_.step(); }
    void add_squares(std::span<double> squares) { worker_.add_squares(squares); }
    [[nodiscard]] const LuFields& fields() const { return fields_; }
    [[nodiscard]] const Box& own() const { return own_; }

  private:
    Box own_;
    LuFields fields_;
    Relays relays_;
    LuWorker<W, const Ranks> worker_;
};

/// Runs and verifies; `Process` is LuRank or LuMate.
template <int W, typename Process>
void run_process(Process& process, const LuProblem& problem, const ExactField& exact,
                 const Ranks& ranks, Outcome& outcome) {
    process.prepare();
    process.step();  // untimed, to touch all code and data
    process.set_initial();
    ranks.wait();
    const double start = Ranks::seconds();
    for (int iteration = 0; iteration < problem.iterations; ++iteration) {
        process.step();
    }
    const auto& fields = process.fields();
    std::vector<double> squares(static_cast<std::size_t>(fields.fronts.inner_blocks()) * 5 * W);
    process.add_squares(squares);
    auto residual = sum_of_squares(fields.fronts, squares);
    ranks.sum(std::span<double>(residual));
    outcome.seconds = Ranks::seconds() - start;

    const auto field = [&](const Place& place) { return state_at(fields, place); };
    auto sums = squares_of(field, exact, process.own(), 1);
    ranks.sum(std::span<double>(sums.error));
    const Norms norms{residual_of(residual, problem.size, problem.time_step),
                      root_mean_square(sums.error, problem.size)};
    const double integral = surface_integral(field, problem.size, process.own());
    verify_lu(problem, norms, ranks.sum(integral), outcome);
}

}  // namespace

// NOLINTNEXTLINE(misc-const-correctness): all kernels are entered in the same way
Outcome run_mpi_lu(ProblemClass problem_class, Ranks& ranks) {
    const auto problem = lu_problem(problem_class);
    const auto grid = pencil_grid(problem.size, ranks.count());
    const ExactField exact(problem.size);
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = lu_operations(problem);
    const bool together = ranks.hosts().members.size() == 1;
    with_block_width(problem.size, together ? ranks.count() : grid.columns, [&](auto width) {
        if (together) {
            ranks.require_memory(0, LuFields::bytes(Fronts(problem.size, width)));
            LuMate<width> process(problem, exact, ranks);
            run_process<width>(process, problem, exact, ranks, outcome);
        } else {
            const auto pencil = pencil_of<width>(problem.size, grid, ranks.id());
            ranks.require_memory(LuFields::bytes(Fronts(pencil, width)), 0);
            LuRank<width> process(problem, exact, grid, ranks);
            run_process<width>(process, problem, exact, ranks, outcome);
        }
    });
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
