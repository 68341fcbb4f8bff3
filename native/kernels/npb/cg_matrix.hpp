#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npb/npb.hpp"

namespace aferir::npb {

/// RNR-94-007, section 2.4, table 2.5.
struct CgProblem {
    int order;
    int nonzeros;  ///< of each random vector
    int iterations;
    double shift;
    double zeta;  ///< published result
};

CgProblem cg_problem(ProblemClass problem);

/// Compares the last iteration's zeta with the published one.
void verify_cg(const CgProblem& problem, double zeta, Outcome& outcome);

/// Compressed sparse rows; columns ascend within a row.
struct SparseMatrix {
    std::vector<std::size_t> starts{0};  ///< order + 1
    std::vector<std::uint32_t> columns;
    std::vector<double> values;

    [[nodiscard]] std::size_t order() const { return starts.size() - 1; }
};

/// The matrix of the specification, by its subroutine makea: the sum of outer products of random
/// sparse vectors, with weights that fall geometrically from 1 to 0.1, plus (0.1 - shift) I.
SparseMatrix make_cg_matrix(const CgProblem& problem, int threads);

}  // namespace aferir::npb
