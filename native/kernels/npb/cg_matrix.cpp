#include "npb/cg_matrix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "npb/random.hpp"

namespace aferir::npb {
namespace {

constexpr double kConditionNumber = 0.1;  // its inverse, as the specification's rcond
constexpr double kDiagonal = 0.5;
constexpr double kCgTolerance = 1e-10;

struct Element {
    std::uint32_t column;
    double value;
};
using SparseVector = std::vector<Element>;

Element* find(SparseVector& vector, std::uint32_t column) {
    const auto found = std::find_if(vector.begin(), vector.end(),
                                    [&](const Element& e) { return e.column == column; });
    return found == vector.end() ? nullptr : &*found;
}

/// A random vector whose element `own` is 0.5. A position is drawn from the next power of two, and
/// drawn again if it lies outside or is taken, which the specification prescribes for portability.
SparseVector random_vector(const CgProblem& problem, std::uint32_t own, std::uint64_t& seed) {
    const auto order = static_cast<std::uint32_t>(problem.order);
    const auto range = static_cast<double>(std::bit_ceil(order));
    SparseVector vector;
    vector.reserve(static_cast<std::size_t>(problem.nonzeros) + 1);
    while (vector.size() < static_cast<std::size_t>(problem.nonzeros)) {
        const double value = randlc(seed);
        const auto column = static_cast<std::uint32_t>(range * randlc(seed));
        if (column < order && find(vector, column) == nullptr) {
            vector.push_back({column, value});
        }
    }
    if (auto* const element = find(vector, own)) {
        element->value = kDiagonal;
    } else {
        vector.push_back({own, kDiagonal});
    }
    return vector;
}

std::vector<SparseVector> random_vectors(const CgProblem& problem) {
    std::uint64_t seed = 314159265;
    randlc(seed);  // the specification draws one number for its first zeta and drops it
    std::vector<SparseVector> vectors;
    vectors.reserve(static_cast<std::size_t>(problem.order));
    for (int i = 0; i < problem.order; ++i) {
        vectors.push_back(random_vector(problem, static_cast<std::uint32_t>(i), seed));
    }
    return vectors;
}

/// For each row of the matrix, the numbers of the random vectors with an element there, ascending.
std::vector<std::vector<std::uint32_t>> users_of_rows(const std::vector<SparseVector>& vectors) {
    std::vector<std::vector<std::uint32_t>> users(vectors.size());
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        for (const auto& element : vectors[i]) {
            users[element.column].push_back(static_cast<std::uint32_t>(i));
        }
    }
    return users;
}

/// Sums one row in a dense accumulator. Outer products are added in the order of the
/// specification's subroutine makea, so that the matrix is the same to the last bit.
class RowSum {
  public:
    explicit RowSum(std::size_t order) : sums_(order), seen_(order) {}

    void add(const SparseVector& vector, double scale, std::uint32_t diagonal, double extra) {
        for (const auto& [column, value] : vector) {
            if (!seen_[column]) {
                seen_[column] = 1;
                sums_[column] = 0;
                columns_.push_back(column);
            }
            sums_[column] += value * scale + (column == diagonal ? extra : 0);
        }
    }

    /// The elements in columns from `first` to `last`; their columns are counted from `first`.
    SparseVector take(std::size_t first, std::size_t last) {
        std::sort(columns_.begin(), columns_.end());
        SparseVector row;
        row.reserve(columns_.size());
        for (const auto column : columns_) {
            if (column >= first && column < last) {
                row.push_back({column - static_cast<std::uint32_t>(first), sums_[column]});
            }
            seen_[column] = 0;
        }
        columns_.clear();
        return row;
    }

  private:
    std::vector<double> sums_;
    std::vector<char> seen_;
    std::vector<std::uint32_t> columns_;
};

std::vector<SparseVector> sum_rows(const CgProblem& problem, int threads, const MatrixPart& part) {
    auto vectors = random_vectors(problem);
    const auto users = users_of_rows(vectors);
    const double ratio = std::pow(kConditionNumber, 1.0 / problem.order);
    std::vector<double> weights(vectors.size(), 1.0);
    for (std::size_t i = 1; i < weights.size(); ++i) {
        weights[i] = weights[i - 1] * ratio;
    }
    std::vector<SparseVector> rows(part.last_row - part.first_row);
#pragma omp parallel num_threads(threads)
    {
        RowSum sum(vectors.size());
#pragma omp for schedule(dynamic, 64)
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto own = static_cast<std::uint32_t>(part.first_row + row);
            for (const auto user : users[own]) {
                const double scale = weights[user] * find(vectors[user], own)->value;
                const double extra = user == own ? kConditionNumber - problem.shift : 0;
                sum.add(vectors[user], scale, own, extra);
            }
            rows[row] = sum.take(part.first_column, part.last_column);
        }
    }
    return rows;
}

}  // namespace

CgProblem cg_problem(ProblemClass problem) {
    static constexpr std::array kProblems{CgProblem{1400, 7, 15, 10, 8.5971775078648},
                                          CgProblem{7000, 8, 15, 12, 10.362595087124},
                                          CgProblem{14000, 11, 15, 20, 17.130235054029},
                                          CgProblem{75000, 13, 75, 60, 22.712745482631},
                                          CgProblem{150000, 15, 75, 110, 28.973605592845},
                                          CgProblem{1500000, 21, 100, 500, 52.514532105794}};
    return kProblems[static_cast<std::size_t>(problem)];
}

double cg_operations(const CgProblem& problem) {
    const double pairs = problem.nonzeros * (problem.nonzeros + 1.0);
    return 2.0 * problem.iterations * problem.order * (3 + pairs + kCgSteps * (5 + pairs) + 3);
}

void verify_cg(const CgProblem& problem, double zeta, Outcome& outcome) {
    outcome.checks = {compare("zeta", zeta, problem.zeta)};
    outcome.verified = all_within(outcome.checks, kCgTolerance);
}

SparseMatrix make_cg_matrix(const CgProblem& problem, int threads) {
    const auto order = static_cast<std::size_t>(problem.order);
    return make_cg_matrix(problem, threads, {0, order, 0, order});
}

SparseMatrix make_cg_matrix(const CgProblem& problem, int threads, const MatrixPart& part) {
    const auto rows = sum_rows(problem, threads, part);
    SparseMatrix matrix;
    matrix.width = part.last_column - part.first_column;
    for (const auto& row : rows) {
        matrix.starts.push_back(matrix.starts.back() + row.size());
    }
    matrix.columns.reserve(matrix.starts.back());
    matrix.values.reserve(matrix.starts.back());
    for (const auto& row : rows) {
        for (const auto& [column, value] : row) {
            matrix.columns.push_back(column);
            matrix.values.push_back(value);
        }
    }
    return matrix;
}

}  // namespace aferir::npb
