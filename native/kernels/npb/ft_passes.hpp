#pragma once

// The passes over the fields of FT, compiled once for each grid: threads and processes call the
// same.

#include <cstddef>
#include <cstdint>

#include "npb/ft_field.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Where the tiles of a z pencil are in the work field: in the row of each plane, `offset` doubles
/// from its beginning.
struct Column {
    double* operator()(int z) const { return rows[z] + offset; }

    double* const* rows;
    std::size_t offset;
};

/// Transforms of one grid. Scratch takes kLongestFft tiles.
struct Passes {
    /// Initial state of a plane, transformed along x: a turned plane.
    void (*generate_x)(const Grid& grid, const Axis& axis, std::uint64_t seed, double* plane,
                       double* scratch);
    /// Forward transform along y; turned plane in, straight plane out.
    void (*forward_y)(const Grid& grid, const Axis& axis, double* plane, double* scratch);
    /// Transforms one z pencil forwards along z: from the work field into the contiguous
    /// `spectrum`. Prefetches the next pencil, which is `kTile` numbers past each work tile.
    void (*forward_z)(const Axis& axis, double* spectrum, Column column);
    /// Evolves one z pencil of the spectrum and transforms it back along z, into the work field.
    void (*evolve_z)(const Axis& axis, const Decays& decays, Vector along_xy,
                     const double* spectrum, Column column);
    /// Inverse transform of a plane along y.
    void (*inverse_y)(const Grid& grid, const Axis& axis, double* plane);
    /// Inverse transform of a plane along x; straight plane in, turned plane out.
    void (*inverse_x)(const Grid& grid, const Axis& axis, double* plane, double* scratch);
};

/// The passes of a grid, which is one of kFtGrids. Where evolve_z streams, finish_streams has to
/// follow. Errors: std::logic_error for a class that was left out (AFERIR_FT_CLASSES).
Passes passes_of(const Grid& grid, bool streaming);

/// Makes streamed stores visible before a barrier that does not know of them.
inline void finish_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace aferir::npb::AFERIR_ISA
