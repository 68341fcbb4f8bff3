// LU by message passing: pencils of the cube along k, as NPB 3 has it, whose processes follow one
// another through the fronts as the threads do, along i and along j.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "npb/lu_problem.hpp"
#include "npb/lu_run.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/lu_halo.hpp"
#include "npb_mpi/lu_links.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_lu(ProblemClass problem_class, Ranks& ranks);

namespace {

/// The rank's pencil, along j in whole blocks of W columns.
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

/// The run of one process.
template <int W>
class LuRank {
  public:
    LuRank(const LuProblem& problem, const ExactField& exact, const ProcessGrid& grid, Ranks& ranks)
        : problem_(problem),
          exact_(exact),
          ranks_(ranks),
          fields_(Fronts(pencil_of<W>(problem.size, grid, ranks.id()), W), 1),
          links_(fields_.fronts, beside_along_i(grid, ranks.id()),
                 beside_along_j(grid, ranks.id())),
          halo_(fields_.u, fields_.fronts, beside_along_i(grid, ranks.id()),
                beside_along_j(grid, ranks.id())),
          sweep_(fields_, LuFactors(problem.size, problem.time_step, kRelaxation),
                 fields_.fronts.share(0, 1), links_) {
        fill_padding<W>(fields_, 0, 1);
        set_states<W>(fields_, 0, 1, [&](const Place& place) { return exact_.at(place); });
        sweep_.force();
    }

    void run(Outcome& outcome) {
        set_initial();
        step();  // untimed, to touch all code and data
        set_initial();
        ranks_.wait();
        const double start = Ranks::seconds();
        for (int iteration = 0; iteration < problem_.iterations; ++iteration) {
            step();
        }
        const auto residual = residual_norms();
        outcome.seconds = Ranks::seconds() - start;
        verify(residual, outcome);
    }

  private:
    void set_initial() {
        set_states<W>(fields_, 0, 1, [&](const Place& place) { return exact_.initial(place); });
    }

    void step() {
        sweep_.lower();
        sweep_.upper();
        halo_.exchange();
    }

    State residual_norms() {
        std::vector<double> squares(static_cast<std::size_t>(fields_.fronts.inner_blocks()) * 5 *
                                    W);
        sweep_.add_squares(squares);
        auto sums = sum_of_squares(fields_.fronts, squares);
        ranks_.sum(std::span<double>(sums));
        return residual_of(sums, problem_.size, problem_.time_step);
    }

    void verify(const State& residual, Outcome& outcome) const {
        const auto field = [&](const Place& place) { return state_at(fields_, place); };
        const auto& [size, i, j] = fields_.fronts.pencil();
        const Box box{i, j, {1, size - 1}};
        auto sums = squares_of(field, exact_, box, 1);
        ranks_.sum(std::span<double>(sums.error));
        const Norms norms{residual, root_mean_square(sums.error, size)};
        verify_lu(problem_, norms, ranks_.sum(surface_integral(field, size, box)), outcome);
    }

    const LuProblem& problem_;
    const ExactField& exact_;
    Ranks& ranks_;
    LuFields fields_;
    MessageLinks links_;
    LuHalo<W> halo_;
    LuSweep<W, MessageLinks> sweep_;
};

/// Of one rank: 16 numbers for each point, of its pencil, its rims and its fronts' padding.
std::size_t bytes_needed(int size, const ProcessGrid& grid) {
    const std::ptrdiff_t columns = (size + grid.columns - 1) / grid.columns + 4 + kLanes;
    const std::ptrdiff_t period = (size + grid.rows - 1) / grid.rows + 4;
    return static_cast<std::size_t>(columns * (period * (size + 4) + columns)) * 16 *
           sizeof(double);
}

}  // namespace

Outcome run_mpi_lu(ProblemClass problem_class, Ranks& ranks) {
    const auto problem = lu_problem(problem_class);
    const auto grid = pencil_grid(problem.size, ranks.count());
    require_memory(bytes_needed(problem.size, grid));
    const ExactField exact(problem.size);
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = lu_operations(problem);
    with_block_width(problem.size, grid.columns,
                     [&](auto width) { LuRank<width>(problem, exact, grid, ranks).run(outcome); });
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
