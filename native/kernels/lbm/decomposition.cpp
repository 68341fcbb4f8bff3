#include "lbm/decomposition.hpp"

#include <algorithm>
#include <numeric>

namespace aferir::lbm {
namespace {

struct Row {
    int y;
    int z;
    std::uint32_t fluid;
};

int extent(std::span<const Row> rows, int Row::* axis) {
    const auto [least, most] = std::minmax_element(
        rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return a.*axis < b.*axis; });
    return (*most).*axis - (*least).*axis;
}

/// The number of rows from the start that hold `share` of the fluid, to the nearest row.
std::size_t cut(std::span<const Row> rows, double share) {
    double total = 0;
    for (const auto& row : rows) {
        total += row.fluid;
    }
    double before = 0;
    std::size_t count = 0;
    while (count < rows.size() && before + rows[count].fluid / 2.0 < share * total) {
        before += rows[count++].fluid;
    }
    return count;
}

void bisect(std::span<Row> rows, int first, int parts, int width, std::vector<int>& owners) {
    if (parts == 1 || rows.empty()) {
        for (const auto& row : rows) {
            owners[static_cast<std::size_t>(row.z) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(row.y)] = first;
        }
        return;
    }
    // Ties go to z: planes are contiguous in memory.
    const bool across_z = extent(rows, &Row::z) >= extent(rows, &Row::y);
    std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        return across_z ? std::pair(a.z, a.y) < std::pair(b.z, b.y)
                        : std::pair(a.y, a.z) < std::pair(b.y, b.z);
    });
    const int left = parts / 2;
    const auto count = cut(rows, static_cast<double>(left) / parts);
    bisect(rows.first(count), first, left, width, owners);
    bisect(rows.subspan(count), first + left, parts - left, width, owners);
}

}  // namespace

std::vector<std::uint32_t> fluid_by_row(const Geometry& geometry) {
    const auto length = static_cast<std::ptrdiff_t>(geometry.size.x);
    std::vector<std::uint32_t> fluid;
    fluid.reserve(geometry.solid.size() / static_cast<std::size_t>(length));
    for (auto row = geometry.solid.begin(); row != geometry.solid.end(); row += length) {
        fluid.push_back(static_cast<std::uint32_t>(std::count(row, row + length, 0)));
    }
    return fluid;
}

std::vector<int> share_rows(const Geometry& geometry, int parts) {
    const auto fluid = fluid_by_row(geometry);
    std::vector<int> owners(fluid.size(), 0);
    std::vector<Row> rows;
    rows.reserve(fluid.size());
    for (int z = 0; z < geometry.size.z; ++z) {
        for (int y = 0; y < geometry.size.y; ++y) {
            rows.push_back({y, z, fluid[rows.size()]});
        }
    }
    bisect(rows, 0, parts, geometry.size.y, owners);
    return owners;
}

std::vector<std::size_t> split_evenly(std::span<const std::size_t> amounts, int parts) {
    const auto total = std::accumulate(amounts.begin(), amounts.end(), std::size_t{0});
    std::vector<std::size_t> bounds{0};
    std::size_t place = 0;
    std::size_t before = 0;
    for (int part = 1; part < parts; ++part) {
        const auto wanted =
            total * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
        while (place < amounts.size() && before + amounts[place] / 2 < wanted) {
            before += amounts[place++];
        }
        bounds.push_back(place);
    }
    bounds.push_back(amounts.size());
    return bounds;
}

}  // namespace aferir::lbm
