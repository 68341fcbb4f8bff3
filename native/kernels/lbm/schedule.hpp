#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aferir::lbm {

/// One step, by its number in the block, of rows y0 to y1 - 1 of a plane.
struct Task {
    int step;
    int z;
    int y0;
    int y1;

    friend bool operator==(const Task&, const Task&) = default;
};

/// Several time steps in one pass over the memory: each step finds the results of the one before in
/// the caches (temporal blocking by split tiles: T. Grosser et al., HiStencils 2014). A row's step
/// k must come after step k - 1 of the rows around it.
///
/// A thread has a slab of planes. First it computes each step, plane by plane, as far as everything
/// that the step needs is in its slab: one plane less at both ends with each step. When all threads
/// have done so, each computes the seam at its lower end, which grows by a plane on both sides with
/// each step. The seam between the last slab and the first is that of a periodic box. Within a
/// plane, tiles of rows move down by a row with each step, and the rows around y = 0 come last.
struct Schedule {
    int steps = 1;                         ///< in a block; 1: a step follows the other everywhere
    std::vector<std::vector<Task>> slabs;  ///< by thread
    std::vector<std::vector<Task>> seams;
    /// How often a block moves a row between memory and caches, on average over all rows: once, and
    /// once more for the rows of seams, and of wedges around y = 0 if planes have several tiles.
    double passes = 1;
};

/// A box of `planes` planes of `rows` rows. `bounds`: of the threads' slabs, threads + 1 of them.
struct Slabs {
    int rows;
    std::vector<int> bounds;
};

/// Largest number of steps in a block, even and at most `wanted`, for which the slabs are thick
/// enough; 1 if they are too thin for any block.
int possible_steps(const Slabs& slabs, int wanted);

/// `tile`: rows of a tile, at least 1. `steps` is what possible_steps() allows.
Schedule make_schedule(const Slabs& slabs, int steps, int tile);

/// Steps in a block and rows in a tile, chosen so that the planes in use fit into `cache_bytes`; a
/// thread's rows have `row_bytes`.
struct Blocking {
    int steps;
    int tile;
};
Blocking choose_blocking(int rows, double row_bytes, double cache_bytes);

}  // namespace aferir::lbm
