#include "ocean/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aferir::ocean {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kEdge = 70 * kDegree;

/// First of `tiles` tiles that process `place` of `places` owns.
int first_tile(int tiles, int place, int places) {
    return static_cast<int>(static_cast<long long>(tiles) * place / places);
}

int largest_part(int tiles, int places) { return (tiles + places - 1) / places; }

}  // namespace

Geometry::Geometry(Shape shape)
    : shape_(shape), dx_(2 * std::numbers::pi / shape.nx), dy_(2 * kEdge / shape.ny) {
    for (int j = -1; j <= shape.ny; ++j) {
        east_distance_.push_back(kEarthRadius * std::cos(latitude(j)) * dx_);
        north_length_.push_back(kEarthRadius * std::cos(latitude(j + 0.5)) * dx_);
    }
}

double Geometry::longitude(double i) const { return (i + 0.5) * dx_; }

double Geometry::latitude(double j) const { return south() + (j + 0.5) * dy_; }

double Geometry::south() { return -kEdge; }

double world_depth(double longitude, double latitude) {
    constexpr double kCoast = 0.25;
    constexpr double kShelf = 0.25;
    constexpr double kShallow = 50;
    const double land = 0.6 * std::sin(2 * longitude + 0.5) * std::cos(latitude) +
                        0.4 * std::sin(3 * longitude - 1) * std::sin(2 * latitude) +
                        0.3 * std::cos(longitude + 2 * latitude);
    if (land >= kCoast) {
        return 0;
    }
    const double deep = 4000 * (1 + 0.25 * std::sin(5 * longitude) * std::cos(4 * latitude) +
                                0.15 * std::sin(11 * longitude + 1) * std::sin(9 * latitude));
    return kShallow + (deep - kShallow) * std::min(1.0, (kCoast - land) / kShelf);
}

std::optional<Split> split_of(Shape shape, int processes) {
    const int across = shape.nx / kTileX;
    const int along = shape.ny / kTileY;
    std::optional<Split> best;
    long long best_cells = 0;
    long long best_border = 0;
    for (int px = 1; px <= processes; ++px) {
        const int py = processes / px;
        if (px * py != processes || px > across || py > along) {
            continue;
        }
        const long long width = static_cast<long long>(largest_part(across, px)) * kTileX;
        const long long height = static_cast<long long>(largest_part(along, py)) * kTileY;
        const long long cells = width * height;
        const long long border = width + height;
        if (!best || cells < best_cells || (cells == best_cells && border < best_border)) {
            best = Split{px, py};
            best_cells = cells;
            best_border = border;
        }
    }
    return best;
}

Part part_of(Shape shape, Split split, int rank) {
    const int column = rank % split.px;
    const int row = rank / split.px;
    const auto x = [&](int place) {
        return kTileX * first_tile(shape.nx / kTileX, place, split.px);
    };
    const auto y = [&](int place) {
        return kTileY * first_tile(shape.ny / kTileY, place, split.py);
    };
    const int line = row * split.px;
    return {.x0 = x(column),
            .y0 = y(row),
            .nx = x(column + 1) - x(column),
            .ny = y(row + 1) - y(row),
            .west = line + (column + split.px - 1) % split.px,
            .east = line + (column + 1) % split.px,
            .south = row > 0 ? rank - split.px : -1,
            .north = row + 1 < split.py ? rank + split.px : -1};
}

}  // namespace aferir::ocean
