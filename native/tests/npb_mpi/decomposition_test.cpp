#include "npb_mpi/decomposition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "common/arguments.hpp"

namespace aferir::npb {
namespace {

TEST(Decomposition, SharesCoverAllInOrderAndDifferByLittle) {
    for (const std::size_t size : {0U, 1U, 7U, 100U, 1400U, 14000U}) {
        for (const std::size_t unit : {1U, 2U, 8U}) {
            for (int count = 1; count <= 64; ++count) {
                std::size_t end = 0;
                for (int index = 0; index < count; ++index) {
                    const auto part = share_of(size, index, count, unit);
                    ASSERT_EQ(part.begin, end);
                    ASSERT_GE(part.end, part.begin);
                    ASSERT_EQ(part.begin % unit, 0U);
                    ASSERT_LE(part.size(), size / static_cast<std::size_t>(count) + 2 * unit);
                    end = part.end;
                }
                ASSERT_EQ(end, size);
            }
        }
    }
}

TEST(Decomposition, HostsHoldEveryRankOnceWhateverTheirOrder) {
    const std::vector<int> leaders{0, 1, 0, 3, 1, 0};
    const std::vector<std::vector<int>> expected{{0, 2, 5}, {1, 4}, {3}};
    for (int rank = 0; rank < 6; ++rank) {
        const auto hosts = hosts_by_leader(leaders, rank);
        EXPECT_EQ(hosts.members, expected);
        EXPECT_EQ(hosts.mates()[hosts.place], rank);
    }
    EXPECT_EQ(hosts_by_leader(leaders, 4).own, 1U);
}

TEST(Decomposition, GridHoldsEveryRankOnceAndIsAsSquareAsTwoAllow) {
    for (int count = 1; count <= 1024; count *= 2) {
        const auto grid = process_grid(count);
        EXPECT_EQ(grid.rows * grid.columns, count);
        EXPECT_TRUE(grid.columns == grid.rows || grid.columns == 2 * grid.rows) << count;
        for (int rank = 0; rank < count; ++rank) {
            ASSERT_EQ(grid.rank_at(grid.row_of(rank), grid.column_of(rank)), rank);
        }
    }
}

TEST(Decomposition, GridOfAnyNumberIsAsSquareAsItsDivisorsAllow) {
    EXPECT_EQ(process_grid(6).rows, 2);
    EXPECT_EQ(process_grid(36).rows, 6);
    EXPECT_EQ(process_grid(12).columns, 4);
    EXPECT_EQ(process_grid(7).columns, 7);
}

TEST(Decomposition, PencilsAreAtLeastTwoPointsWide) {
    EXPECT_NO_THROW(pencil_grid(12, 25));
    EXPECT_NO_THROW(pencil_grid(12, 16));
    EXPECT_THROW(pencil_grid(12, 7), UsageError);
    EXPECT_THROW(pencil_grid(12, 36), UsageError);
}

TEST(Decomposition, TranspositionBringsEachColumnItsOwnSegments) {
    for (int count = 1; count <= 1024; count *= 2) {
        const auto grid = process_grid(count);
        std::set<int> brought;
        for (int rank = 0; rank < count; ++rank) {
            const int segment = grid.transposed(rank);
            brought.insert(segment);
            ASSERT_EQ(grid.bringer_of(segment), rank);
            ASSERT_EQ(segment / grid.rows, grid.column_of(rank));
        }
        EXPECT_EQ(brought.size(), static_cast<std::size_t>(count));
    }
}

TEST(Decomposition, BucketsAreSplitEvenlyUpToOneBucket) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<std::int64_t> counts(1 + random() % 200);
        for (auto& count : counts) {
            count = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 1000);
        }
        const int parts = static_cast<int>(1 + random() % 20);
        const auto bounds = split_buckets(counts, parts);
        ASSERT_EQ(bounds.size(), static_cast<std::size_t>(parts) + 1);
        EXPECT_EQ(bounds.front(), 0U);
        EXPECT_EQ(bounds.back(), counts.size());
        ASSERT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
        const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
        const auto largest = *std::max_element(counts.begin(), counts.end());
        std::int64_t before = 0;
        for (std::size_t part = 0; part + 1 < bounds.size(); ++part) {
            ASSERT_LE(std::abs(before - total * static_cast<std::int64_t>(part) / parts), largest);
            before += std::accumulate(
                counts.begin() + static_cast<std::ptrdiff_t>(bounds[part]),
                counts.begin() + static_cast<std::ptrdiff_t>(bounds[part + 1]), std::int64_t{0});
        }
    }
}

TEST(Decomposition, OnlyPowersOfTwoWithinBoundsAreAccepted) {
    for (const int count : {1, 2, 4, 64}) {
        EXPECT_NO_THROW(require_power_of_two("CG", count, 64));
    }
    for (const int count : {3, 6, 63, 128}) {
        EXPECT_THROW(require_power_of_two("CG", count, 64), UsageError) << count;
    }
}

}  // namespace
}  // namespace aferir::npb
