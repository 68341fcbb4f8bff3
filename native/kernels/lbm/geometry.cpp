#include "lbm/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>
#include <sstream>
#include <string>

#include "common/arguments.hpp"
#include "lbm/analytic.hpp"
#include "lbm/random.hpp"

namespace aferir::lbm {
namespace {

constexpr int kLongestEdge = 1 << 14;
constexpr std::size_t kMostCells = std::size_t{1} << 31U;

struct Point {
    double x;
    double y;
    double z;
};

Geometry all_fluid(Size size) {
    Geometry geometry;
    geometry.size = size;
    geometry.solid.assign(size.cells(), 0);
    return geometry;
}

/// The shortest way between two places of a periodic axis.
double apart(double a, double b, double period) {
    const double distance = std::abs(a - b);
    return std::min(distance, period - distance);
}

double square_apart(Point a, Point b, Size size) {
    const double x = apart(a.x, b.x, size.x);
    const double y = apart(a.y, b.y, size.y);
    const double z = apart(a.z, b.z, size.z);
    return x * x + y * y + z * z;
}

/// Difference in cells by which a sphere made of whole cells acts on the fluid as if its radius
/// were greater. One number serves simple cubic, body-centred and face-centred arrays; it was
/// chosen with volume shares of 0.1 to 0.3 and 48 and 64 cells an edge. A. J. C. Ladd (J. Fluid
/// Mech. 271, 1994) calibrates spheres in this way.
constexpr double kStaircase = 0.07;

/// Makes those cells solid whose middles are in a sphere with this hydrodynamic radius.
void put_sphere(Geometry& geometry, Point centre, double flow_radius) {
    const double radius = flow_radius - kStaircase;
    const auto size = geometry.size;
    const auto wrap = [](int place, int period) { return ((place % period) + period) % period; };
    const int reach = static_cast<int>(radius) + 2;
    for (int dz = -reach; dz <= reach; ++dz) {
        for (int dy = -reach; dy <= reach; ++dy) {
            for (int dx = -reach; dx <= reach; ++dx) {
                const int x = wrap(static_cast<int>(centre.x) + dx, size.x);
                const int y = wrap(static_cast<int>(centre.y) + dy, size.y);
                const int z = wrap(static_cast<int>(centre.z) + dz, size.z);
                const Point middle{x + 0.5, y + 0.5, z + 0.5};
                if (square_apart(middle, centre, size) < radius * radius) {
                    geometry.solid[geometry.index(x, y, z)] = 1;
                }
            }
        }
    }
}

std::vector<Point> centres(Packing packing) {
    switch (packing) {
        case Packing::kSimpleCubic:
            return {{0, 0, 0}};
        case Packing::kBodyCentred:
            return {{0, 0, 0}, {0.5, 0.5, 0.5}};
        case Packing::kFaceCentred:
            return {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    }
    return {};
}

}  // namespace

std::size_t Geometry::fluid_cells() const {
    return static_cast<std::size_t>(std::count(solid.begin(), solid.end(), 0));
}

Geometry make_slit(int length, int gap, int width) {
    auto geometry = all_fluid({length, gap, width});
    geometry.walls_y = true;
    geometry.permeability = slit_permeability(gap);
    return geometry;
}

Geometry make_duct(int length, int height, int width) {
    auto geometry = all_fluid({length, height, width});
    geometry.walls_y = true;
    geometry.walls_z = true;
    geometry.permeability = duct_permeability(height, width);
    return geometry;
}

Geometry make_spheres(Packing packing, int edge, double fraction) {
    const double most = std::min(kMostFraction, closest_fraction(packing));
    if (std::isnan(fraction) || fraction < kLeastFraction || fraction > most) {
        throw UsageError("--fraction of an ordered packing must be from " +
                         std::to_string(kLeastFraction) + " to " + std::to_string(most) +
                         ", where the permeability is known");
    }
    auto geometry = all_fluid({edge, edge, edge});
    const double volume = static_cast<double>(geometry.size.cells()) / spheres_in_cell(packing);
    const double radius = std::cbrt(3 * fraction * volume / (4 * std::numbers::pi));
    // Centres off the lattice's symmetry points: otherwise many cells would become solid at the
    // same radius.
    constexpr Point kOff{0.29, 0.41, 0.17};
    const int quarter = edge / 4;
    const auto place = [&](double in_cell, double off) { return in_cell * edge + quarter + off; };
    for (const auto centre : centres(packing)) {
        put_sphere(geometry,
                   {place(centre.x, kOff.x), place(centre.y, kOff.y), place(centre.z, kOff.z)},
                   radius);
    }
    geometry.permeability = spheres_permeability(packing, edge, fraction);
    return geometry;
}

Geometry make_random_packing(Size size, int diameter, double fraction, std::uint64_t number) {
    constexpr int kMostTries = 200'000;
    auto geometry = all_fluid(size);
    Random random(number);
    std::vector<Point> placed;
    const double radius = diameter / 2.0;
    const double sphere = std::numbers::pi / 6 * std::pow(diameter, 3);
    const auto wanted = static_cast<std::size_t>(
        std::lround(fraction * static_cast<double>(size.cells()) / sphere));
    int tries = 0;
    while (placed.size() < wanted) {
        const Point centre{random.uniform() * size.x, random.uniform() * size.y,
                           random.uniform() * size.z};
        if (std::all_of(placed.begin(), placed.end(), [&](Point other) {
                return square_apart(centre, other, size) >= 4 * radius * radius;
            })) {
            placed.push_back(centre);
            put_sphere(geometry, centre, radius);
            tries = 0;
        } else if (++tries == kMostTries) {
            throw UsageError("no place is left for a sphere: " + std::to_string(placed.size()) +
                             " of " + std::to_string(wanted) +
                             " are placed; choose a smaller --fraction (0.3 fits)");
        }
    }
    return geometry;
}

Geometry make_blocks(Size size, int edge) {
    auto geometry = all_fluid(size);
    geometry.walls_y = true;
    geometry.walls_z = true;
    // Places the blocks as other programs do, which count the walls as cells of the box.
    const auto is_block = [&](int place) { return place % (2 * edge) >= edge; };
    for (int z = 0; z < size.z; ++z) {
        for (int y = 0; y < size.y; ++y) {
            for (int x = 0; x < size.x; ++x) {
                geometry.solid[geometry.index(x, y, z)] =
                    is_block(x) && is_block(y + 1) && is_block(z + 1) ? 1 : 0;
            }
        }
    }
    return geometry;
}

Geometry read_voxels(std::istream& file) {
    long long x = 0;
    long long y = 0;
    long long z = 0;
    std::string line;
    std::getline(file, line);
    if (line != "aferir-voxels 1") {
        throw UsageError("its first line is not `aferir-voxels 1`");
    }
    std::getline(file, line);
    std::istringstream sizes(line);
    std::string rest;
    if (!(sizes >> x >> y >> z) || (sizes >> rest) || std::min({x, y, z}) < 1 ||
        std::max({x, y, z}) > kLongestEdge) {
        throw UsageError("its second line is not three edges from 1 to " +
                         std::to_string(kLongestEdge));
    }
    Geometry geometry;
    geometry.size = {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
    if (geometry.size.cells() > kMostCells) {
        throw UsageError("it has more than 2^31 cells");
    }
    constexpr std::size_t kPiece = std::size_t{1} << 20U;
    // Reads piece by piece: the size in the header may exceed the file.
    while (geometry.solid.size() < geometry.size.cells()) {
        const auto before = geometry.solid.size();
        const auto wanted = std::min(kPiece, geometry.size.cells() - before);
        geometry.solid.resize(before + wanted);
        file.read(reinterpret_cast<char*>(geometry.solid.data() + before),
                  static_cast<std::streamsize>(wanted));
        if (file.gcount() != static_cast<std::streamsize>(wanted)) {
            throw UsageError("it ends before its last cell");
        }
    }
    if (file.peek() != std::istream::traits_type::eof()) {
        throw UsageError("it goes on after its last cell");
    }
    if (std::any_of(geometry.solid.begin(), geometry.solid.end(),
                    [](std::uint8_t cell) { return cell > 1; })) {
        throw UsageError("a cell is neither 0 (fluid) nor 1 (solid)");
    }
    if (geometry.fluid_cells() == 0) {
        throw UsageError("no cell is fluid");
    }
    return geometry;
}

Geometry read_voxels(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw UsageError(path.string() + " cannot be read");
    }
    try {
        return read_voxels(file);
    } catch (const UsageError& error) {
        throw UsageError(path.string() + ": " + error.what());
    }
}

}  // namespace aferir::lbm
