#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "internals.hpp"

namespace aferir::npb {
namespace {

/// A random matrix with rows of very different lengths: some empty, a few nearly full.
SparseMatrix random_matrix(std::size_t order, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> value(-1, 1);
    SparseMatrix matrix;
    matrix.width = order;
    for (std::size_t row = 0; row < order; ++row) {
        const double density = row % 97 == 5  ? 0.9
                               : row % 7 == 0 ? 0.0
                                              : 0.02 * std::abs(value(random));
        std::bernoulli_distribution present(density);
        for (std::uint32_t column = 0; column < order; ++column) {
            if (present(random)) {
                matrix.columns.push_back(column);
                matrix.values.push_back(value(random));
            }
        }
        matrix.starts.push_back(matrix.columns.size());
    }
    return matrix;
}

TEST(Cg, BlockedProductIsTheNaiveOne) {
    for (const std::size_t order : {1U, 7U, 8U, 300U, 2049U, 5003U}) {
        const auto matrix = random_matrix(order, static_cast<unsigned>(order));
        std::vector<double> x(order);
        std::mt19937 random(7);
        for (auto& element : x) {
            element = std::uniform_real_distribution<double>(-1, 1)(random);
        }
        for (const auto& internals : usable_internals()) {
            for (const int parts : {1, 2, 3, 20}) {
                const auto y = internals.multiply(matrix, parts, x);
                for (std::size_t row = 0; row < order; ++row) {
                    double sum = 0;
                    for (auto k = matrix.starts[row]; k < matrix.starts[row + 1]; ++k) {
                        sum += matrix.values[k] * x[matrix.columns[k]];
                    }
                    ASSERT_NEAR(y[row], sum, 1e-12)
                        << internals.isa << ' ' << order << ' ' << parts;
                }
            }
        }
    }
}

TEST(Cg, MatrixIsSymmetricWithTheShiftOnItsDiagonal) {
    const auto problem = cg_problem(ProblemClass::S);
    const auto matrix = make_cg_matrix(problem, 3);
    ASSERT_EQ(matrix.order(), 1400U);
    std::vector<double> dense(matrix.order() * matrix.order());
    for (std::size_t row = 0; row < matrix.order(); ++row) {
        for (auto k = matrix.starts[row]; k < matrix.starts[row + 1]; ++k) {
            dense[row * matrix.order() + matrix.columns[k]] = matrix.values[k];
        }
    }
    for (std::size_t row = 0; row < matrix.order(); ++row) {
        // Each random vector has 0.5 at its own place, with a weight between 1 and 0.1.
        EXPECT_GT(dense[row * matrix.order() + row], 0.1 - problem.shift + 0.025 - 1e-12);
        EXPECT_LT(dense[row * matrix.order() + row], -3);
        for (std::size_t column = 0; column < row; ++column) {
            ASSERT_NEAR(dense[row * matrix.order() + column], dense[column * matrix.order() + row],
                        1e-15);
        }
    }
}

TEST(Cg, MatrixDoesNotDependOnThreads) {
    const auto problem = cg_problem(ProblemClass::S);
    const auto one = make_cg_matrix(problem, 1);
    const auto five = make_cg_matrix(problem, 5);
    EXPECT_EQ(one.columns, five.columns);
    EXPECT_EQ(one.values, five.values);
}

TEST(Cg, PartOfTheMatrixIsThatPart) {
    const auto problem = cg_problem(ProblemClass::S);
    const auto whole = make_cg_matrix(problem, 1);
    const auto part = make_cg_matrix(problem, 2, {304, 1400, 96, 700});
    ASSERT_EQ(part.order(), 1096U);
    ASSERT_EQ(part.width, 604U);
    std::size_t element = 0;
    for (std::size_t row = 0; row < part.order(); ++row) {
        for (auto k = whole.starts[row + 304]; k < whole.starts[row + 305]; ++k) {
            if (whole.columns[k] >= 96 && whole.columns[k] < 700) {
                ASSERT_LT(element, part.starts[row + 1]);
                EXPECT_EQ(part.columns[element], whole.columns[k] - 96);
                EXPECT_EQ(part.values[element], whole.values[k]);
                ++element;
            }
        }
        ASSERT_EQ(part.starts[row + 1], element);
    }
}

TEST(Cg, VerificationRefusesWrongZeta) {
    const auto problem = cg_problem(ProblemClass::A);
    const auto accepts = [&](double zeta) {
        Outcome outcome;
        verify_cg(problem, zeta, outcome);
        return outcome.verified;
    };
    EXPECT_TRUE(accepts(17.130235054029));
    EXPECT_FALSE(accepts(17.130235054029 * (1 + 2e-10)));
    EXPECT_FALSE(accepts(std::nan("")));
}

}  // namespace
}  // namespace aferir::npb
