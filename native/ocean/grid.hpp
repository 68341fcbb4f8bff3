#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/memory.hpp"

namespace aferir::ocean {

/// Edge of the tiles whose cells are summed together, whichever process owns them, so that global
/// sums do not depend on the number of processes. A process owns whole tiles.
inline constexpr int kTileX = 32;
inline constexpr int kTileY = 8;

inline constexpr double kEarthRadius = 6.371e6;  ///< m
inline constexpr double kGravity = 9.806;        ///< m/s^2

/// Cells from west to east (periodic) and from south to north (closed).
struct Shape {
    int nx = 0;
    int ny = 0;
};

/// A sphere between the parallels at 70 degrees north and south, in cells of equal angles; angles
/// in radians.
class Geometry {
  public:
    explicit Geometry(Shape shape);

    [[nodiscard]] Shape shape() const { return shape_; }
    [[nodiscard]] double longitude(double i) const;  ///< of cell i's middle; i + 0.5: its east side
    [[nodiscard]] double latitude(double j) const;   ///< of cell j's middle; j + 0.5: its north
    [[nodiscard]] static double south();
    [[nodiscard]] static double north() { return -south(); }
    /// Figures of rows -1 to ny: areas in m^2, lengths of a cell's sides and distances to the next
    /// cell's middle in m.
    [[nodiscard]] double area(int j) const { return east_distance(j) * north_distance(); }
    [[nodiscard]] double east_length() const { return kEarthRadius * dy_; }
    [[nodiscard]] double east_distance(int j) const { return east_distance_[at(j)]; }
    [[nodiscard]] double north_length(int j) const { return north_length_[at(j)]; }
    [[nodiscard]] double north_distance() const { return kEarthRadius * dy_; }
    [[nodiscard]] bool is_inside(int j) const { return j >= 0 && j < shape_.ny; }

  private:
    static std::size_t at(int j) { return static_cast<std::size_t>(j + 1); }

    Shape shape_;
    double dx_;
    double dy_;
    std::vector<double> east_distance_;
    std::vector<double> north_length_;
};

/// Depth in m of the sea at a longitude and latitude in radians; 0: land.
using Depth = std::function<double(double longitude, double latitude)>;

/// Depth of an artificial world: continents, shelves and ridges, about a third of it land.
double world_depth(double longitude, double latitude);

/// Number of processes along both directions.
struct Split {
    int px = 1;
    int py = 1;
};

/// Splits the grid into parts of whole tiles, so that the largest part is as small as possible, and
/// among such splits the borders are shortest. Nothing if there are too many processes.
std::optional<Split> split_of(Shape shape, int processes);

/// One process's cells, and the ranks of its neighbours; -1 is a wall.
struct Part {
    int x0 = 0;
    int y0 = 0;
    int nx = 0;
    int ny = 0;
    int west = 0;
    int east = 0;
    int south = -1;
    int north = -1;
};

Part part_of(Shape shape, Split split, int rank);

/// Layout of a part's cells in its arrays, with one ring of neighbours' cells around; rows are
/// aligned.
struct Layout {
    static constexpr int kMargin = 8;  ///< doubles in a cache line

    explicit Layout(const Part& part) : nx(part.nx), ny(part.ny), stride(part.nx + 2 * kMargin) {}

    [[nodiscard]] std::ptrdiff_t at(int i, int j) const {
        return std::ptrdiff_t{j + 1} * stride + kMargin + i;
    }
    [[nodiscard]] std::size_t size() const {
        return static_cast<std::size_t>(stride) * static_cast<std::size_t>(ny + 2);
    }

    int nx;
    int ny;
    int stride;
};

/// Zeroed arrays of one layout within one mapping.
class Arena {
  public:
    Arena(const Layout& layout, int count)
        : size_(layout.size()), memory_(size_ * static_cast<std::size_t>(count)) {}

    std::span<double> take() { return memory_.span().subspan(size_ * taken_++, size_); }

  private:
    std::size_t size_;
    std::size_t taken_ = 0;
    HugeArray<double> memory_;
};

}  // namespace aferir::ocean
