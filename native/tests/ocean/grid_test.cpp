#include "ocean/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace aferir::ocean {
namespace {

TEST(Grid, EveryCellBelongsToOneProcess) {
    const Shape shape{384, 256};
    for (const int processes : {1, 2, 4, 5, 7, 8, 12, 16, 24, 36, 48}) {
        const auto split = split_of(shape, processes);
        ASSERT_TRUE(split) << processes;
        std::vector<int> owners(static_cast<std::size_t>(shape.nx * shape.ny));
        for (int rank = 0; rank < processes; ++rank) {
            const Part part = part_of(shape, *split, rank);
            EXPECT_EQ(part.nx % kTileX, 0);
            EXPECT_EQ(part.ny % kTileY, 0);
            for (int j = part.y0; j < part.y0 + part.ny; ++j) {
                for (int i = part.x0; i < part.x0 + part.nx; ++i) {
                    owners[static_cast<std::size_t>(j * shape.nx + i)] += 1;
                }
            }
        }
        EXPECT_EQ(std::count(owners.begin(), owners.end(), 1),
                  static_cast<std::ptrdiff_t>(owners.size()));
    }
}

TEST(Grid, NeighboursAreNeighboursOfOneAnother) {
    const Shape shape{384, 256};
    for (const int processes : {1, 2, 3, 12, 48}) {
        const Split split = split_of(shape, processes).value();
        for (int rank = 0; rank < processes; ++rank) {
            const Part part = part_of(shape, split, rank);
            EXPECT_EQ(part_of(shape, split, part.east).west, rank);
            if (part.north >= 0) {
                EXPECT_EQ(part_of(shape, split, part.north).south, rank);
                EXPECT_EQ(part_of(shape, split, part.north).y0, part.y0 + part.ny);
            }
            EXPECT_EQ(part.south < 0, part.y0 == 0);
        }
    }
}

TEST(Grid, MoreProcessesThanTilesHaveNoSplit) {
    EXPECT_TRUE(split_of({64, 16}, 4));
    EXPECT_FALSE(split_of({64, 16}, 5));
    EXPECT_TRUE(split_of({12288, 8192}, 48));
}

TEST(Grid, AreasAddUpToTheZone) {
    const Geometry geometry({384, 256});
    double sum = 0;
    for (int j = 0; j < 256; ++j) {
        sum += 384 * geometry.area(j);
    }
    const double exact =
        4 * std::numbers::pi * kEarthRadius * kEarthRadius * std::sin(70 * std::numbers::pi / 180);
    EXPECT_NEAR(sum / exact, 1, 1e-5);
}

TEST(Grid, TheWorldIsAThirdLandAndRound) {
    const Geometry geometry({384, 256});
    int land = 0;
    for (int j = 0; j < 256; ++j) {
        for (int i = 0; i < 384; ++i) {
            const double depth = world_depth(geometry.longitude(i), geometry.latitude(j));
            land += depth == 0 ? 1 : 0;
            EXPECT_TRUE(depth == 0 || (depth >= 50 && depth < 6000));
        }
        const double latitude = geometry.latitude(j);
        EXPECT_NEAR(world_depth(0, latitude), world_depth(2 * std::numbers::pi, latitude), 1e-6);
    }
    EXPECT_GT(land, 384 * 256 / 5);
    EXPECT_LT(land, 384 * 256 / 2);
}

}  // namespace
}  // namespace aferir::ocean
