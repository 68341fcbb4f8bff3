#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <vector>

namespace aferir::lbm {

struct Size {
    int x = 1;
    int y = 1;
    int z = 1;

    [[nodiscard]] std::size_t cells() const {
        return static_cast<std::size_t>(x) * static_cast<std::size_t>(y) *
               static_cast<std::size_t>(z);
    }
};

/// Both ends of the box along x are joined (periodic); with kPressure, only the pressure jumps
/// there.
enum class Ends { kPeriodic, kPressure };

/// A box of cells, x fastest, in which the flow is along x.
struct Geometry {
    Size size;
    std::vector<std::uint8_t> solid;  ///< 1 or 0 a cell
    bool walls_y = false;             ///< half a cell outside of the box; periodic without
    bool walls_z = false;
    Ends ends = Ends::kPeriodic;
    std::optional<double> permeability;  ///< where the solution is known, in cells^2

    [[nodiscard]] std::size_t index(int x, int y, int z) const {
        return (static_cast<std::size_t>(z) * static_cast<std::size_t>(size.y) +
                static_cast<std::size_t>(y)) *
                   static_cast<std::size_t>(size.x) +
               static_cast<std::size_t>(x);
    }
    [[nodiscard]] std::size_t fluid_cells() const;
};

/// A channel between two plates, `gap` apart, in a periodic box of length and width.
Geometry make_slit(int length, int gap, int width);

/// A straight channel with walls around; its cross-section is `height` times `width`.
Geometry make_duct(int length, int height, int width);

enum class Packing { kSimpleCubic, kBodyCentred, kFaceCentred };

/// One cubic unit cell of equal spheres, whose share of its volume is `fraction`. Errors:
/// UsageError if such spheres would overlap, or the share is outside of the reference's range.
Geometry make_spheres(Packing packing, int edge, double fraction);

/// Equal spheres in a periodic box, placed one after another at random positions where they overlap
/// no other one (random sequential addition), until they have their share of the volume. Errors:
/// UsageError if they do not fit.
Geometry make_random_packing(Size size, int diameter, double fraction, std::uint64_t number);

/// Cubes of `edge` cells at every second place along each axis, between walls.
Geometry make_blocks(Size size, int edge);

/// The file format of docs/reference/lattice-boltzmann.md. Errors: UsageError that says what is
/// wrong with the file.
Geometry read_voxels(std::istream& file);
Geometry read_voxels(const std::filesystem::path& path);

}  // namespace aferir::lbm
