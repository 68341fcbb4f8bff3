// CG, the conjugate gradient kernel: the smallest eigenvalue of a sparse symmetric matrix by the
// inverse power method, with 25 steps of unpreconditioned conjugate gradients an iteration
// (RNR-94-007, section 2.4).

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/cg_blocks.hpp"
#include "npb/cg_matrix.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_cg(ProblemClass problem, int threads);

namespace {

struct Vectors {
    explicit Vectors(std::size_t order) : x(order), z(order), p(order), q(order), r(order) {}

    HugeArray<double> x, z, p, q, r;
};

/// One thread's part in the solver: it owns `rows` of every vector and multiplies those rows of
/// the matrix. Loops that the specification writes apart are joined wherever no other thread's
/// result is needed in between, which leaves three barriers a step.
class Solver {
  public:
    Solver(const SparseMatrix& matrix, Vectors& vectors, Member member)
        : member_(member),
          rows_(share_rows(matrix, member.id(), member.count())),
          matrix_(matrix, rows_),
          x_(vectors.x.data()),
          z_(vectors.z.data()),
          p_(vectors.p.data()),
          q_(vectors.q.data()),
          r_(vectors.r.data()) {}

    Member& member() { return member_; }

    void set_start_vector() {
        std::fill(x_ + rows_.begin, x_ + rows_.end, 1.0);
        member_.wait();
    }

    /// One iteration of the inverse power method; returns x.z before x becomes z/||z||.
    double iterate() {
        conjugate_gradients();
        double xz = 0;
        double zz = 0;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            xz += x_[j] * z_[j];
            zz += z_[j] * z_[j];
        }
        xz = member_.sum(xz);
        const double factor = 1.0 / std::sqrt(member_.sum(zz));
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            x_[j] = factor * z_[j];
        }
        return xz;
    }

    /// ||x - A z|| of the last iteration.
    [[nodiscard]] double residual() const { return residual_; }

  private:
    /// Solves A z = x approximately.
    void conjugate_gradients() {
        double rho = 0;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            z_[j] = 0;
            r_[j] = x_[j];
            p_[j] = x_[j];
            rho += x_[j] * x_[j];
        }
        rho = member_.sum(rho);
        for (int step = 0; step < kCgSteps; ++step) {
            rho = conjugate_gradient_step(rho);
        }
        matrix_.multiply(z_, q_);
        double sum = 0;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            const double difference = x_[j] - q_[j];
            sum += difference * difference;
        }
        residual_ = std::sqrt(member_.sum(sum));
    }

    double conjugate_gradient_step(double rho) {
        matrix_.multiply(p_, q_);
        double pq = 0;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            pq += p_[j] * q_[j];
        }
        const double alpha = rho / member_.sum(pq);
        double next_rho = 0;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            z_[j] += alpha * p_[j];
            r_[j] -= alpha * q_[j];
            next_rho += r_[j] * r_[j];
        }
        next_rho = member_.sum(next_rho);
        const double beta = next_rho / rho;
        for (std::size_t j = rows_.begin; j < rows_.end; ++j) {
            p_[j] = r_[j] + beta * p_[j];
        }
        member_.wait();
        return next_rho;
    }

    Member member_;
    Range rows_;
    BlockedRows matrix_;
    double* x_;
    double* z_;
    double* p_;
    double* q_;
    double* r_;
    double residual_ = 0;
};

std::size_t bytes_needed(const CgProblem& problem) {
    const auto elements = static_cast<std::size_t>(problem.order) *
                          static_cast<std::size_t>(problem.nonzeros + 1) *
                          static_cast<std::size_t>(problem.nonzeros + 1);
    return elements * 40;  // rows as they are summed, compressed and blocked: 16 + 12 + 10.4
}

}  // namespace

Outcome run_cg(ProblemClass problem_class, int threads) {
    const auto problem = cg_problem(problem_class);
    require_memory(bytes_needed(problem));
    const auto matrix = make_cg_matrix(problem, threads);
    Vectors vectors(matrix.order() + BlockedRows::kLanes);
    Meeting meeting(threads);
    Outcome outcome;
    outcome.iterations = problem.iterations;
    outcome.operations = cg_operations(problem);
#pragma omp parallel num_threads(threads)
    {
        Solver solver(matrix, vectors, Member(meeting));
        solver.set_start_vector();
        solver.iterate();  // untimed, to touch all code and data
        solver.set_start_vector();
        const double start = omp_get_wtime();
        double zeta = 0;
        for (int iteration = 0; iteration < problem.iterations; ++iteration) {
            zeta = problem.shift + 1.0 / solver.iterate();
        }
        solver.member().wait();
#pragma omp master
        {
            outcome.seconds = omp_get_wtime() - start;
            outcome.variant = "rows in blocks of columns (SELL-8)";
            outcome.residual_norm = solver.residual();
            verify_cg(problem, zeta, outcome);
        }
    }
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
