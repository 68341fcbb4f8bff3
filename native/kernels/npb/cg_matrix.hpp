#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npb/npb.hpp"

namespace aferir::npb {

/// Parameters of a problem class (RNR-94-007, section 2.4, table 2.5).
struct CgProblem {
    int order;
    int nonzeros;  ///< of each random vector
    int iterations;
    double shift;
    double zeta;  ///< published result
};

inline constexpr int kCgSteps = 25;  ///< of conjugate gradients in an iteration

CgProblem cg_problem(ProblemClass problem);

/// Floating-point operations, as NPB 3 counts them.
double cg_operations(const CgProblem& problem);

/// Compares the last iteration's zeta with the published one.
void verify_cg(const CgProblem& problem, double zeta, Outcome& outcome);

/// Compressed sparse rows; columns ascend within a row.
struct SparseMatrix {
    std::size_t width = 0;               ///< columns
    std::vector<std::size_t> starts{0};  ///< order + 1
    std::vector<std::uint32_t> columns;
    std::vector<double> values;

    /// Number of rows; a square matrix has as many columns.
    [[nodiscard]] std::size_t order() const { return starts.size() - 1; }
};

/// Half-open ranges of a matrix's rows and columns.
struct MatrixPart {
    std::size_t first_row;
    std::size_t last_row;
    std::size_t first_column;
    std::size_t last_column;
};

/// The matrix of the specification, by its subroutine makea: the sum of outer products of random
/// sparse vectors, with weights that fall geometrically from 1 to 0.1, plus (0.1 - shift) I.
SparseMatrix make_cg_matrix(const CgProblem& problem, int threads);

/// Makes a part of this matrix only; its rows and columns are counted from 0.
SparseMatrix make_cg_matrix(const CgProblem& problem, int threads, const MatrixPart& part);

}  // namespace aferir::npb
