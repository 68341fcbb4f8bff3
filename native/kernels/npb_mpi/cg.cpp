// CG by message passing: the matrix is cut into a grid of blocks, one a rank (RNR-94-007, section
// 2.4; the grid of NPB 3). A product needs the sums of each row of ranks, by recursive halving, and
// a vector in each column of ranks, by a transposition and recursive doubling. Each element of a
// vector is updated by one rank alone. Where all ranks share memory, the grid is one column, whose
// ranks read the vector where it is.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "common/memory.hpp"
#include "npb/cg_blocks.hpp"
#include "npb/cg_matrix.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_cg(ProblemClass problem, Ranks& ranks);

namespace {

constexpr std::size_t kUnit = BlockedRows::kLanes;

/// Segments of the vectors on which a rank works.
class Layout {
  public:
    Layout(std::size_t order, const Ranks& ranks)
        : grid(ranks.share_all() ? ProcessGrid{ranks.count(), 1} : process_grid(ranks.count())),
          rank(ranks.id()),
          order_(order),
          count_(ranks.count()) {}

    /// Elements of segments [first, last).
    [[nodiscard]] Part segments(int first, int last) const {
        return {share_of(order_, first, count_, kUnit).begin,
                share_of(order_, last - 1, count_, kUnit).end};
    }
    [[nodiscard]] Part own() const { return segments(rank, rank + 1); }
    [[nodiscard]] Part row() const {
        const int first = grid.row_of(rank) * grid.columns;
        return segments(first, first + grid.columns);
    }
    [[nodiscard]] Part column() const {
        const int first = grid.column_of(rank) * grid.rows;
        return segments(first, first + grid.rows);
    }

    ProcessGrid grid;
    int rank;

  private:
    std::size_t order_;
    int count_;
};

SparseMatrix make_block(const CgProblem& problem, const Layout& layout) {
    const auto rows = layout.row();
    const auto columns = layout.column();
    return make_cg_matrix(problem, 1, {rows.begin, rows.end, columns.begin, columns.end});
}

/// q = A p, where each rank has its own segment of p and gets its own of q.
class Product {
  public:
    Product(const SparseMatrix& block, const Layout& layout, const Ranks& ranks)
        : layout_(layout),
          ranks_(ranks),
          given_(block, range_of(halves(layout.grid.columns)[1])),
          kept_(block, range_of(halves(layout.grid.columns)[0])),
          sums_(layout.row().size() + 1),
          incoming_(layout.row().size()),
          column_(layout.grid.rows > 1 && !ranks.share_all() ? layout.column().size() : 1) {}

    /// Returns this rank's segment of the product, good until the next call. Where all ranks share
    /// memory, `own` is in the vector that they have in common.
    const double* multiply(const double* own) {
        const double* const p = spread(own);
        int width = layout_.grid.columns;
        if (width == 1) {
            kept_.multiply(p, sums_.data());
            return sums_.data();
        }
        given_.multiply(p, sums_.data());
        start_halving(width);
        kept_.multiply(p, sums_.data());
        finish_halving(width);
        for (width /= 2; width > 1; width /= 2) {
            start_halving(width);
            finish_halving(width);
        }
        return sums_.data() + (layout_.own().begin - layout_.row().begin);
    }

  private:
    /// Divides the `width` segments whose sums this rank is still gathering: first the half that it
    /// keeps, then the half that its partner keeps.
    [[nodiscard]] std::array<Part, 2> halves(int width) const {
        const int first = layout_.rank / width * width;
        const int middle = first + width / 2;
        if (width == 1) {
            const auto all = layout_.segments(first, first + 1);
            return {all, {all.end, all.end}};
        }
        const auto low = layout_.segments(first, middle);
        const auto high = layout_.segments(middle, first + width);
        return layout_.rank < middle ? std::array{low, high} : std::array{high, low};
    }

    [[nodiscard]] std::span<double> sums_of(Part part) {
        return sums_.span().subspan(part.begin - layout_.row().begin, part.size());
    }

    [[nodiscard]] Range range_of(Part part) const {
        return {part.begin - layout_.row().begin, part.end - layout_.row().begin};
    }

    void start_halving(int width) {
        const auto [kept, given] = halves(width);
        const int partner = layout_.rank ^ (width / 2);
        messages_.receive(partner, incoming_.span().first(kept.size()));
        messages_.send(partner, std::span<const double>(sums_of(given)));
    }

    void finish_halving(int width) {
        messages_.wait();
        const auto kept = sums_of(halves(width)[0]);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            kept[i] += incoming_[i];
        }
    }

    /// The part of the vector that this rank's column of the matrix needs.
    const double* spread(const double* own) {
        const auto& grid = layout_.grid;
        if (grid.rows == 1) {
            return own;
        }
        if (ranks_.share_all()) {
            ranks_.wait_for_mates();
            return own - layout_.own().begin;
        }
        const int brought = grid.transposed(layout_.rank);
        messages_.receive(brought, column_of(brought, brought + 1));
        messages_.send(grid.bringer_of(layout_.rank), std::span(own, layout_.own().size()));
        messages_.wait();
        const int row = grid.row_of(layout_.rank);
        const int column = grid.column_of(layout_.rank);
        for (int width = 1; width < grid.rows; width *= 2) {
            const int mine = column * grid.rows + row / width * width;
            const int theirs = column * grid.rows + (row ^ width) / width * width;
            const int partner = grid.rank_at(row ^ width, column);
            messages_.receive(partner, column_of(theirs, theirs + width));
            messages_.send(partner, std::span<const double>(column_of(mine, mine + width)));
            messages_.wait();
        }
        return column_.data();
    }

    [[nodiscard]] std::span<double> column_of(int first, int last) {
        const auto part = layout_.segments(first, last);
        return column_.span().subspan(part.begin - layout_.column().begin, part.size());
    }

    Layout layout_;
    const Ranks& ranks_;
    BlockedRows given_;
    BlockedRows kept_;
    HugeArray<double> sums_;
    HugeArray<double> incoming_;
    HugeArray<double> column_;
    Messages messages_;
};

class Solver {
  public:
    Solver(const CgProblem& problem, Ranks& ranks)
        : ranks_(ranks),
          layout_(static_cast<std::size_t>(problem.order), ranks),
          product_(make_block(problem, layout_), layout_, ranks),
          size_(layout_.own().size()),
          all_z_(common_array<double>(ranks, static_cast<std::size_t>(problem.order))),
          all_p_(common_array<double>(ranks, static_cast<std::size_t>(problem.order))),
          z_(all_z_.data() + layout_.own().begin),
          p_(all_p_.data() + layout_.own().begin),
          x_(size_),
          r_(size_) {}

    void set_start_vector() { std::fill_n(x_.data(), size_, 1.0); }

    /// One iteration of the inverse power method; returns x.z before x becomes z/||z||.
    double iterate() {
        conjugate_gradients();
        std::array<double, 2> sums{};  // x.z and z.z
        for (std::size_t j = 0; j < size_; ++j) {
            sums[0] += x_[j] * z_[j];
            sums[1] += z_[j] * z_[j];
        }
        ranks_.sum(sums);
        const double factor = 1.0 / std::sqrt(sums[1]);
        for (std::size_t j = 0; j < size_; ++j) {
            x_[j] = factor * z_[j];
        }
        return sums[0];
    }

    /// ||x - A z|| of the last iteration.
    [[nodiscard]] double residual() const { return residual_; }

  private:
    /// Solves A z = x approximately.
    void conjugate_gradients() {
        double rho = 0;
        for (std::size_t j = 0; j < size_; ++j) {
            z_[j] = 0;
            r_[j] = x_[j];
            p_[j] = x_[j];
            rho += x_[j] * x_[j];
        }
        rho = ranks_.sum(rho);
        for (int step = 0; step < kCgSteps; ++step) {
            rho = conjugate_gradient_step(rho);
        }
        const double* const q = product_.multiply(z_);
        double sum = 0;
        for (std::size_t j = 0; j < size_; ++j) {
            const double difference = x_[j] - q[j];
            sum += difference * difference;
        }
        residual_ = std::sqrt(ranks_.sum(sum));
    }

    double conjugate_gradient_step(double rho) {
        const double* const q = product_.multiply(p_);
        double pq = 0;
        for (std::size_t j = 0; j < size_; ++j) {
            pq += p_[j] * q[j];
        }
        const double alpha = rho / ranks_.sum(pq);
        double next_rho = 0;
        for (std::size_t j = 0; j < size_; ++j) {
            z_[j] += alpha * p_[j];
            r_[j] -= alpha * q[j];
            next_rho += r_[j] * r_[j];
        }
        next_rho = ranks_.sum(next_rho);
        const double beta = next_rho / rho;
        for (std::size_t j = 0; j < size_; ++j) {
            p_[j] = r_[j] + beta * p_[j];
        }
        return next_rho;
    }

    Ranks& ranks_;
    Layout layout_;
    Product product_;
    std::size_t size_;
    HugeArray<double> all_z_;  ///< what the ranks of a host have in common; z_ and p_ are our own
    HugeArray<double> all_p_;
    double* z_;
    double* p_;
    HugeArray<double> x_;
    HugeArray<double> r_;
    double residual_ = 0;
};

/// Requires the memory of one rank: its block of the matrix in summed, compressed and blocked form,
/// and all the random vectors. All ranks have two vectors in common.
void require_memory_for(const CgProblem& problem, const Ranks& ranks) {
    const auto order = static_cast<std::size_t>(problem.order);
    const auto row = static_cast<std::size_t>(problem.nonzeros + 1);
    const auto count = static_cast<std::size_t>(ranks.count());
    ranks.require_memory(order * row * row * 40 / count + order * row * 24,
                         2 * order * sizeof(double));
}

}  // namespace

Outcome run_mpi_cg(ProblemClass problem_class, Ranks& ranks) {
    const auto problem = cg_problem(problem_class);
    require_power_of_two("CG", ranks.count(), problem.order / static_cast<int>(2 * kUnit));
    require_memory_for(problem, ranks);
    Solver solver(problem, ranks);
    solver.set_start_vector();
    (void)solver.iterate();  // untimed, to touch all code and data
    solver.set_start_vector();
    ranks.wait();
    const double start = Ranks::seconds();
    double zeta = 0;
    for (int iteration = 0; iteration < problem.iterations; ++iteration) {
        zeta = problem.shift + 1.0 / solver.iterate();
    }
    Outcome outcome;
    outcome.seconds = Ranks::seconds() - start;
    outcome.iterations = problem.iterations;
    outcome.operations = cg_operations(problem);
    outcome.variant = ranks.share_all() ? "rows in blocks of columns (SELL-8), shared vectors"
                                        : "rows in blocks of columns (SELL-8), grid of ranks";
    outcome.residual_norm = solver.residual();
    verify_cg(problem, zeta, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
