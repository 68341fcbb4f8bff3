#include "lbm/schedule.hpp"

#include <algorithm>

namespace aferir::lbm {
namespace {

/// Rows of one tile at one step; the last tile is the wedge around y = 0.
struct Tiles {
    int rows;
    int height;
    int count;

    Tiles(int all_rows, int steps, int tile) : rows(all_rows), height(tile) {
        // The first tile shrinks at both sides with each step, so it must have more rows than the
        // wedge.
        const bool whole = tile >= all_rows || all_rows < 4 * steps;
        height = whole ? all_rows : std::max(tile, 2 * steps);
        count = whole ? 1 : (all_rows + height - 1) / height;
    }

    [[nodiscard]] bool whole() const { return count == 1; }

    void add(std::vector<Task>& tasks, int tile, int step, int z) const {
        if (whole()) {
            add_rows(tasks, step, z, 0, rows);
        } else if (tile < count) {
            const int y0 = tile == 0 ? step : tile * height - step;
            const int y1 = tile + 1 == count ? rows - step : (tile + 1) * height - step;
            add_rows(tasks, step, z, y0, y1);
        } else {
            add_rows(tasks, step, z, rows - step, rows);
            add_rows(tasks, step, z, 0, step);
        }
    }

    static void add_rows(std::vector<Task>& tasks, int step, int z, int y0, int y1) {
        if (y0 < y1) {
            tasks.push_back({step, z, y0, y1});
        }
    }

    [[nodiscard]] int with_wedge() const { return whole() ? 1 : count + 1; }
};

std::vector<Task> slab_tasks(const Tiles& tiles, int begin, int end, int steps) {
    std::vector<Task> tasks;
    for (int tile = 0; tile < tiles.with_wedge(); ++tile) {
        for (int front = begin; front < end; ++front) {
            for (int step = 0; step < steps && front - step >= begin + step; ++step) {
                tiles.add(tasks, tile, step, front - step);
            }
        }
    }
    return tasks;
}

std::vector<Task> seam_tasks(const Tiles& tiles, int middle, int planes, int steps) {
    std::vector<Task> tasks;
    for (int tile = 0; tile < tiles.with_wedge(); ++tile) {
        for (int step = 1; step < steps; ++step) {
            for (int z = middle - step; z < middle + step; ++z) {
                tiles.add(tasks, tile, step, (z + planes) % planes);
            }
        }
    }
    return tasks;
}

}  // namespace

int possible_steps(const Slabs& slabs, int wanted) {
    int thinnest = wanted;
    for (std::size_t slab = 0; slab + 1 < slabs.bounds.size(); ++slab) {
        // The seams at both ends of a slab must not overlap.
        const int planes = slabs.bounds[slab + 1] - slabs.bounds[slab];
        thinnest = std::min(thinnest, planes / 2 + 1);
    }
    const int steps = thinnest / 2 * 2;
    return steps < 2 ? 1 : steps;
}

Schedule make_schedule(const Slabs& slabs, int steps, int tile) {
    const Tiles tiles(slabs.rows, steps, tile);
    const int planes = slabs.bounds.back();
    Schedule schedule;
    schedule.steps = steps;
    for (std::size_t slab = 0; slab + 1 < slabs.bounds.size(); ++slab) {
        const int begin = slabs.bounds[slab];
        schedule.slabs.push_back(slab_tasks(tiles, begin, slabs.bounds[slab + 1], steps));
        schedule.seams.push_back(seam_tasks(tiles, begin, planes, steps));
    }
    const double seams = static_cast<double>(schedule.seams.size()) * 2 * (steps - 1) / planes;
    const double wedges = tiles.whole() ? 0 : 2.0 * (steps - 1) / slabs.rows;
    schedule.passes = 1 + seams + wedges;
    return schedule;
}

Blocking choose_blocking(int rows, double row_bytes, double cache_bytes) {
    for (const int steps : {4, 2}) {
        // A thread works on steps + 1 planes at a time: the rows of the tile, and those by which it
        // moves.
        const auto room = cache_bytes / (row_bytes * (steps + 1)) - steps;
        if (room >= rows) {
            return {steps, rows};
        }
        if (room >= 2.0 * steps) {
            return {steps, static_cast<int>(room)};
        }
    }
    return {1, rows};
}

}  // namespace aferir::lbm
