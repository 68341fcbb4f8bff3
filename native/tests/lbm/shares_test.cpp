#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lbm/cells.hpp"
#include "lbm/decomposition.hpp"
#include "lbm/schedule.hpp"

namespace aferir::lbm {
namespace {

/// Records the tasks of a schedule, and fails if one comes before the tasks that it needs.
class Rehearsal {
  public:
    Rehearsal(int rows, int planes) : rows_(rows), planes_(planes) {}

    void run(const std::vector<std::vector<Task>>& by_thread) {
        // Threads run in any order between two barriers, so a task may only need what was done
        // before the barrier, or by its own thread.
        const auto before = done_;
        auto all = done_;
        for (const auto& tasks : by_thread) {
            done_ = before;
            for (const auto& task : tasks) {
                for (int y = task.y0; y < task.y1; ++y) {
                    step(task.step, y, task.z);
                    ASSERT_TRUE(all.insert({task.step, y, task.z}).second) << "twice";
                }
            }
        }
        done_ = all;
    }

    [[nodiscard]] std::size_t count() const { return done_.size(); }

  private:
    void step(int step, int y, int z) {
        for (int behind = -1; step > 0 && behind <= 1; ++behind) {
            for (int above = -1; above <= 1; ++above) {
                const int near_y = (y + above + rows_) % rows_;
                const int near_z = (z + behind + planes_) % planes_;
                ASSERT_TRUE(done_.contains({step - 1, near_y, near_z}))
                    << "step " << step << " of " << y << ", " << z;
            }
        }
        done_.insert({step, y, z});
    }

    int rows_;
    int planes_;
    std::set<std::tuple<int, int, int>> done_;
};

TEST(Schedule, EveryStepOfEveryRowIsDoneOnceAndAfterThoseAroundIt) {
    for (const int rows : {1, 5, 16, 17, 40}) {
        for (const int wanted : {2, 4, 8}) {
            for (const int tile : {1, 9, 100}) {
                for (const auto& bounds :
                     std::vector<std::vector<int>>{{0, 3}, {0, 15}, {0, 14, 29}, {0, 8, 14, 21}}) {
                    const Slabs slabs{rows, bounds};
                    const int steps = possible_steps(slabs, wanted);
                    ASSERT_GE(steps, 2);
                    const auto schedule = make_schedule(slabs, steps, tile);
                    Rehearsal rehearsal(rows, bounds.back());
                    rehearsal.run(schedule.slabs);
                    rehearsal.run(schedule.seams);
                    EXPECT_EQ(rehearsal.count(),
                              static_cast<std::size_t>(steps * rows * bounds.back()));
                }
            }
        }
    }
}

TEST(Schedule, SlabsOfOnePlaneAreNotBlocked) {
    EXPECT_EQ(possible_steps({8, {0, 1, 2}}, 8), 1);
    EXPECT_EQ(possible_steps({8, {0, 2, 4}}, 8), 2);
    EXPECT_EQ(possible_steps({8, {0, 14}}, 8), 8);
}

TEST(Schedule, BlocksFitIntoTheCache) {
    for (const double cache : {1e5, 1e6, 8e6}) {
        for (const int rows : {4, 30, 158}) {
            const auto chosen = choose_blocking(rows, 24000, cache);
            if (chosen.steps > 1) {
                const int held = std::min(chosen.tile == rows ? rows : chosen.tile + chosen.steps,
                                          rows + chosen.steps);
                EXPECT_LE((chosen.steps + 1) * held * 24000.0, cache * 1.001) << rows;
            }
        }
    }
    EXPECT_EQ(choose_blocking(158, 24000, 1e3).steps, 1);
}

TEST(Decomposition, PartsDifferByARowForEachCut) {
    const auto geometry = make_random_packing({30, 24, 40}, 8, 0.3, 3);
    const auto fluid = fluid_by_row(geometry);
    for (int parts = 1; parts <= 13; ++parts) {
        const auto owners = share_rows(geometry, parts);
        std::vector<double> cells(static_cast<std::size_t>(parts), 0);
        for (std::size_t row = 0; row < owners.size(); ++row) {
            cells.at(static_cast<std::size_t>(owners[row])) += fluid[row];
        }
        const double mean = static_cast<double>(geometry.fluid_cells()) / parts;
        for (const double part : cells) {
            EXPECT_NEAR(part, mean, 4 * 30.0) << parts;
        }
    }
}

TEST(Cells, RanksAgreeOnWhatTheyExchange) {
    const auto geometry = make_random_packing({16, 12, 12}, 6, 0.25, 5);
    const int ranks = 3;
    const auto owners = share_rows(geometry, ranks);
    std::vector<Cells> cells;
    std::size_t count = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        cells.push_back(list_cells(geometry, owners, rank));
        count += cells.back().count;
    }
    EXPECT_EQ(count, geometry.fluid_cells());
    for (int rank = 0; rank < ranks; ++rank) {
        for (const auto& peer : cells[static_cast<std::size_t>(rank)].peers) {
            const auto& others = cells[static_cast<std::size_t>(peer.rank)].peers;
            const auto back = std::find_if(others.begin(), others.end(),
                                           [&](const Peer& other) { return other.rank == rank; });
            ASSERT_NE(back, others.end());
            EXPECT_EQ(peer.places.size(), back->ghosts_end - back->ghosts_begin);
        }
    }
}

TEST(Cells, EachPlaceIsReadByOneCellInAnOddStep) {
    const auto geometry = make_random_packing({20, 12, 14}, 6, 0.25, 5);
    const auto owners = share_rows(geometry, 1);
    const auto cells = list_cells(geometry, owners, 0);
    std::set<std::uint32_t> read;
    for (const auto& run : cells.runs) {
        for (const auto at : run.at) {
            for (std::uint32_t i = 0; i < run.length; ++i) {
                ASSERT_TRUE(read.insert(at + i).second);
            }
        }
    }
    EXPECT_EQ(read.size(), cells.count * (kDirections - 1));
}

}  // namespace
}  // namespace aferir::lbm
