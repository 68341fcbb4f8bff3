#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "npb/block.hpp"
#include "npb/lu_flow.hpp"
#include "npb/lu_fronts.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The coefficients of a point and of its neighbours at -2, -1, 1, 2 along one axis, in the sum of
/// second and fourth difference. The fourth difference excludes states on and beyond the boundary.
struct Weights {
    std::array<double, 4> neighbour{};
    double centre = 0;
    double active = 0;  ///< 1 between the boundaries, else 0
};

inline Weights weights(std::ptrdiff_t position, std::ptrdiff_t size, double second, double fourth) {
    const auto last = size - 2;
    if (position < 1 || position > last) {
        return {};
    }
    return {{position > 2 ? -fourth : 0.0, second + (position > 1 ? 4 * fourth : 0.0),
             second + (position < last ? 4 * fourth : 0.0), position < last - 1 ? -fourth : 0.0},
            -2 * second - (position == 1 || position == last ? 5 : 6) * fourth,
            1.0};
}

/// The weights of W neighbouring columns.
template <int W>
struct WeightBlocks {
    std::array<std::array<Block<W>, 4>, 3> neighbour;  ///< [axis]
    Block<W> centre;
    Block<W> active;
};

/// The weights of all points of a front (see Fronts). Each thread has its own copy.
///
/// Column c of front `period k + t` has slot t - c of plane k if c is at most t, else slot period +
/// t - c of plane k - 1, and so on: so whatever depends on i or k is tabulated by t - c.
class Differences {
  public:
    Differences(const Fronts& fronts, const LuFactors& factors)
        : size_(fronts.size()), period_(fronts.period()), factors_(factors) {
        const auto columns = fronts.blocks() * fronts.lanes();
        const auto shifts = static_cast<std::size_t>(period_ + columns);
        resize(x_, shifts);
        resize(z_, shifts);
        resize(y_, static_cast<std::size_t>(columns));
        const auto [i, j] = std::pair(fronts.pencil().i, fronts.pencil().j);
        const auto first = fronts.reach(i).begin;
        for (std::ptrdiff_t place = 0; place < period_ + columns; ++place) {
            const auto slot = period_ - 1 - place % period_;
            if (const int at = first + static_cast<int>(slot); i.has(at)) {
                set(x_, place, weights(at, size_, factors.diffusion[0], factors.dissipation));
            }
        }
        for (int at = j.begin; at < j.end; ++at) {
            set(y_, fronts.column(at),
                weights(at, size_, factors.diffusion[1], factors.dissipation));
        }
    }

    /// To be called before a front's weights are read.
    void enter(std::ptrdiff_t front) {
        const auto plane = front / period_;
        shift_ = period_ - 1 - (front - plane * period_);
        if (plane != plane_) {
            plane_ = plane;
            fill_planes();
        }
    }

    template <int W>
    [[nodiscard, gnu::always_inline]] WeightBlocks<W> load(std::ptrdiff_t column) const {
        const auto at = column + shift_;
        WeightBlocks<W> blocks;
        unroll<4>([&](auto n) {
            blocks.neighbour[0][n] = load_block<W>(x_.neighbour[n].data() + at);
            blocks.neighbour[1][n] = load_block<W>(y_.neighbour[n].data() + column);
            blocks.neighbour[2][n] = load_block<W>(z_.neighbour[n].data() + at);
        });
        blocks.centre =
            load_block<W>(z_.centre.data() + at) + load_block<W>(y_.centre.data() + column);
        blocks.active = active<W>(column);
        return blocks;
    }

    /// 1 if a point is inside the cube, else 0.
    template <int W>
    [[nodiscard, gnu::always_inline]] Block<W> active(std::ptrdiff_t column) const {
        return load_block<W>(z_.active.data() + column + shift_) *
               load_block<W>(y_.active.data() + column);
    }

  private:
    struct Table {
        std::array<std::vector<double>, 4> neighbour;
        std::vector<double> centre;
        std::vector<double> active;
    };

    static void resize(Table& table, std::size_t size) {
        for (auto& values : table.neighbour) {
            values.resize(size);
        }
        table.centre.resize(size);
        table.active.resize(size);
    }

    static void set(Table& table, std::ptrdiff_t place, const Weights& weights) {
        const auto index = static_cast<std::size_t>(place);
        for (std::size_t n = 0; n < weights.neighbour.size(); ++n) {
            table.neighbour[n][index] = weights.neighbour[n];
        }
        table.centre[index] = weights.centre;
        table.active[index] = weights.active;
    }

    /// Sets the weights along z. Here the weight of the centre is the sum of those along x and z,
    /// and `active` is the product of both.
    void fill_planes() {
        const auto total = static_cast<std::ptrdiff_t>(z_.centre.size());
        for (std::ptrdiff_t lap = 0; lap * period_ < total; ++lap) {
            const auto along_z =
                weights(plane_ - lap, size_, factors_.diffusion[2], factors_.dissipation);
            const auto from = lap * period_;
            const auto to = std::min(from + period_, total);
            for (std::size_t n = 0; n < along_z.neighbour.size(); ++n) {
                double* const values = z_.neighbour[n].data();
                std::fill(values + from, values + to, along_z.neighbour[n]);
            }
            for (auto place = static_cast<std::size_t>(from); place < static_cast<std::size_t>(to);
                 ++place) {
                z_.centre[place] = x_.centre[place] + along_z.centre;
                z_.active[place] = x_.active[place] * along_z.active;
            }
        }
    }

    std::ptrdiff_t size_;
    std::ptrdiff_t period_;
    LuFactors factors_;
    Table x_;
    Table y_;
    Table z_;
    std::ptrdiff_t plane_ = -1;
    std::ptrdiff_t shift_ = 0;
};

}  // namespace aferir::npb::AFERIR_ISA
