#include "ocean/rows.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace aferir::ocean {
namespace {

class Rows : public ::testing::Test {
  protected:
    std::vector<double> random() {
        std::vector<double> values(layout.size());
        for (double& value : values) {
            value = distribution(generator);
        }
        return values;
    }
    [[nodiscard]] std::size_t at(int i, int j) const {
        return static_cast<std::size_t>(layout.at(i, j));
    }

    std::mt19937_64 generator{7};
    std::uniform_real_distribution<double> distribution{-1, 1};
    Part part{.nx = 3 * kTileX, .ny = 2 * kTileY};
    Layout layout{part};
};

TEST_F(Rows, TheOperatorIsTheFivePointFormulaInItsTilesAlone) {
    const auto field = random(), east = random(), north = random();
    std::vector<double> image(layout.size(), 5);
    apply_operator(layout, {east, north}, {1, 3, 0, 1}, field, image);
    for (int j = 0; j < layout.ny; ++j) {
        for (int i = 0; i < layout.nx; ++i) {
            const double expected =
                field[at(i, j)] -
                ((east[at(i, j)] * field[at(i + 1, j)] + east[at(i - 1, j)] * field[at(i - 1, j)]) +
                 (north[at(i, j)] * field[at(i, j + 1)] +
                  north[at(i, j - 1)] * field[at(i, j - 1)]));
            const bool inside = i >= kTileX && j < kTileY;
            EXPECT_DOUBLE_EQ(image[at(i, j)], inside ? expected : 5) << i << ' ' << j;
        }
    }
}

TEST_F(Rows, TilesAreSummedEachForItself) {
    const auto field = random(), image = random();
    std::vector<double> squares(6), products(6);
    tile_products(layout, {0, 3, 0, 2}, field, image, squares, products);
    for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 3; ++x) {
            double square = 0, product = 0;
            for (int j = y * kTileY; j < (y + 1) * kTileY; ++j) {
                for (int i = x * kTileX; i < (x + 1) * kTileX; ++i) {
                    square += field[at(i, j)] * field[at(i, j)];
                    product += field[at(i, j)] * image[at(i, j)];
                }
            }
            EXPECT_NEAR(squares[static_cast<std::size_t>(3 * y + x)], square, 1e-12);
            EXPECT_NEAR(products[static_cast<std::size_t>(3 * y + x)], product, 1e-12);
        }
    }
}

TEST_F(Rows, BothWaysOfAdvancingAreTheSame) {
    const auto x = random(), r = random(), w = random(), p = random(), q = random();
    auto x1 = x, r1 = r, w1 = w, p1 = p, q1 = q;
    advance_both(layout, {x1, r1, w1, p1, q1}, 0.3, 0.7);
    auto x2 = x, r2 = r, w2 = w, p2 = p;
    advance_direction(layout, {x2, r2, w2, p2, q1}, 0.7);
    advance_solution(layout, {x2, r2, w2, p2, q1}, 0.3);
    for (int j = 0; j < layout.ny; ++j) {
        for (int i = 0; i < layout.nx; ++i) {
            const std::size_t here = at(i, j);
            EXPECT_DOUBLE_EQ(q1[here], w[here] + 0.7 * q[here]);
            EXPECT_DOUBLE_EQ(p1[here], r[here] + 0.7 * p[here]);
            EXPECT_DOUBLE_EQ(x1[here], x[here] + 0.3 * p1[here]);
            EXPECT_DOUBLE_EQ(r1[here], r[here] - 0.3 * q1[here]);
            EXPECT_EQ(x1[here], x2[here]);
            EXPECT_EQ(r1[here], r2[here]);
        }
    }
}

}  // namespace
}  // namespace aferir::ocean
