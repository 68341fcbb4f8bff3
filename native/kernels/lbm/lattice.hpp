#pragma once

#include <array>
#include <cstddef>

namespace aferir::lbm {

/// D3Q19: rest, six faces and twelve edges of a cube, opposite ones side by side (1 and 2, 3 and 4,
/// ...). Lattice units: a cell and a time step are 1, the density at rest is 1.
inline constexpr int kDirections = 19;

struct Direction {
    int x;
    int y;
    int z;
};

inline constexpr std::array<Direction, kDirections> kVelocities{{{0, 0, 0},
                                                                 {1, 0, 0},
                                                                 {-1, 0, 0},
                                                                 {0, 1, 0},
                                                                 {0, -1, 0},
                                                                 {0, 0, 1},
                                                                 {0, 0, -1},
                                                                 {1, 1, 0},
                                                                 {-1, -1, 0},
                                                                 {1, -1, 0},
                                                                 {-1, 1, 0},
                                                                 {1, 0, 1},
                                                                 {-1, 0, -1},
                                                                 {1, 0, -1},
                                                                 {-1, 0, 1},
                                                                 {0, 1, 1},
                                                                 {0, -1, -1},
                                                                 {0, 1, -1},
                                                                 {0, -1, 1}}};

constexpr int opposite(int direction) { return direction == 0 ? 0 : ((direction - 1) ^ 1) + 1; }

inline constexpr double kRestWeight = 1.0 / 3;
inline constexpr double kFaceWeight = 1.0 / 18;
inline constexpr double kEdgeWeight = 1.0 / 36;

constexpr double weight(int direction) {
    if (direction == 0) {
        return kRestWeight;
    }
    return direction < 7 ? kFaceWeight : kEdgeWeight;
}

/// Rates of the two-relaxation-time collision (I. Ginzburg, F. Verhaeghe and D. d'Humieres, Commun.
/// Comput. Phys. 3, 2008): of the even part, which sets the viscosity, and of the odd part.
struct Relaxation {
    double even;
    double odd;
};

/// Product (1/even - 1/2) (1/odd - 1/2) of the two rates: 3/16 puts a plane wall exactly half-way
/// between two cells, at any viscosity.
inline constexpr double kMagic = 3.0 / 16;

constexpr Relaxation relaxation(double viscosity) {
    const double even_time = 3 * viscosity;  // less 1/2
    return {1 / (even_time + 0.5), 1 / (kMagic / even_time + 0.5)};
}

/// Force and pressure (density) difference that drive the flow along x.
struct Drive {
    double force = 0;       ///< on a cell
    double difference = 0;  ///< of density, by which it falls from end to end of the box
};

/// Floating-point operations of one update of a cell by collide.hpp; a test counts them.
inline constexpr int kOperationsPerUpdate = 153;

/// Bytes that an update reads and writes.
inline constexpr std::size_t kBytesPerUpdate = 2 * sizeof(double) * kDirections;

}  // namespace aferir::lbm
