#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lbm/geometry.hpp"
#include "lbm/lattice.hpp"

namespace aferir::lbm {

/// Consecutive cells whose populations also come from consecutive places, in each direction: those
/// of cell first + i come from at[direction - 1] + i.
struct Run {
    std::uint32_t first;
    std::uint32_t length;
    std::array<std::uint32_t, kDirections - 1> at;
};

/// Exchange with one other rank: its places that this rank keeps copies of (ghosts), and this
/// rank's places that it keeps copies of.
struct Peer {
    int rank;
    std::uint32_t ghosts_begin;  ///< in the array of populations
    std::uint32_t ghosts_end;
    std::vector<std::uint32_t> places;  ///< in the order of the peer's ghosts
};

/// The fluid cells of one rank, by rows along x, and where their populations are.
///
/// AA pattern (P. Bailey et al., ICPP 2009): one array, structure of arrays; population q of cell i
/// has the place q * stride + i, ghosts follow. An even step reads and writes a cell's own places,
/// and leaves each population in the place of its opposite. An odd step reads population q from
/// the place of q's opposite in the cell that it comes from (or, off a wall, from its own place of
/// q), and writes q where it read the opposite of q: so each place is used by one cell in a step,
/// and the steps may follow one another in place.
struct Cells {
    std::size_t count = 0;
    std::size_t stride = 0;
    std::size_t places = 0;  ///< with ghosts
    // The box that holds all rows; row (y, z) is number (z - z0) * (y1 - y0) + (y - y0).
    int y0 = 0;
    int y1 = 0;
    int z0 = 0;
    int z1 = 0;
    std::vector<std::uint32_t> row_cells;  ///< first cell of a row; one more at the end
    std::vector<std::uint32_t> row_runs;
    std::vector<Run> runs;
    std::vector<std::uint8_t> at_border;  ///< a row with ghosts among its places
    /// A population that crosses an end of the box, where the pressure jumps.
    struct Jump {
        std::uint32_t place;
        double weight;  ///< below 0 if the fluid goes against the jump
    };
    std::array<std::vector<Jump>, 2> jumps;  ///< after even and after odd steps
    std::vector<std::array<std::uint32_t, 2>> row_jumps;
    std::vector<Peer> peers;

    [[nodiscard]] std::size_t rows_of_plane() const { return static_cast<std::size_t>(y1 - y0); }
    [[nodiscard]] std::size_t planes() const { return static_cast<std::size_t>(z1 - z0); }
    [[nodiscard]] std::size_t row(int y, int z) const {
        return static_cast<std::size_t>(z) * rows_of_plane() + static_cast<std::size_t>(y);
    }
};

/// The cells of the rows that `rank` owns. Errors: UsageError if they are more than 32-bit
/// places can tell apart.
Cells list_cells(const Geometry& geometry, std::span<const int> owners, int rank);

}  // namespace aferir::lbm
