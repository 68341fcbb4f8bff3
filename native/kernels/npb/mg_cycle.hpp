#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/memory.hpp"
#include "npb/mg_grid.hpp"
#include "npb/mg_problem.hpp"
#include "npb/mg_rows.hpp"
#include "npb/mg_sweep.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The grids of a V-cycle; level 0 has 2 points along an edge, the last one the problem's.
struct Levels {
    /// Makes the grids in memory of this process only.
    explicit Levels(std::size_t size)
        : Levels(size, [](std::size_t values) { return HugeArray<double>(values); }) {}

    /// `allocate` makes a HugeArray of so many doubles.
    template <typename Allocate>
    Levels(std::size_t size, const Allocate& allocate)
        : right_side(size, allocate), spare(size, allocate) {
        for (std::size_t edge = 2; edge <= size; edge *= 2) {
            const bool kept = edge < size || !sweeps(edge);  // a sweep keeps no residual
            correction.emplace_back(edge, allocate);
            residual.emplace_back(kept ? edge : 2, allocate);
        }
    }

    /// Grids that do not fit into L2 are swept (see Sweep); for smaller ones each step is a pass of
    /// its own.
    static bool sweeps(std::size_t size) { return size >= 64; }

    [[nodiscard]] std::size_t finest() const { return correction.size() - 1; }

    std::vector<Grid> correction;  ///< u
    std::vector<Grid> residual;    ///< r
    Grid right_side;               ///< v
    Grid spare;                    ///< the finest u that a sweep writes while it reads the other
};

/// Sets the charges that lie in the grid.
inline void place(const Grid& grid, const Charges& charges) {
    const auto set = [&](const std::vector<Point>& points, double value) {
        for (const auto& point : points) {
            const auto plane = static_cast<std::ptrdiff_t>(point.plane);
            const auto row = static_cast<std::ptrdiff_t>(point.row);
            if (grid.has(plane, row)) {
                grid.row(plane, row)[point.column] = value;
                wrap_row(grid.row(plane, row), grid.size());
            }
        }
    };
    set(charges.positive, 1);
    set(charges.negative, -1);
}

/// Part `index` of `count` of [0, size), with even bounds.
inline Span share(std::size_t size, int index, int count) {
    const auto half = static_cast<std::ptrdiff_t>(size / 2);
    return {half * index / count * 2, half * (index + 1) / count * 2};
}

/// One worker's part of the V-cycles. `AnyMember` knows the worker's number, waits for the others
/// and adds up their numbers.
template <typename AnyMember>
class Cycle {
  public:
    Cycle(Levels& levels, const std::array<double, 3>& smoother, AnyMember& member)
        : levels_(levels), smoother_(smoother), member_(member), sweep_(levels.right_side.size()) {}

    /// r = v - A u on the finest grid, which also begins the next cycle; returns its L2 norm.
    double first_residual() {
        SweepPlan plan;
        plan.measured = true;
        return residual_norm(plan);
    }

    /// Starts again, with these charges.
    void set_up(const Charges& charges) {
        clear();
        if (member_.id() == 0) {
            place(levels_.right_side, charges);
        }
        member_.wait();
    }

    /// One V-cycle and the residual after it; returns the residual's L2 norm if `last`, else 0.
    double iterate(bool last) {
        restrict_down();
        for (std::size_t level = 1; level < levels_.finest(); ++level) {
            climb(level);
        }
        SweepPlan plan;
        plan.z = &levels_.correction[levels_.finest() - 1];
        plan.measured = last;
        return residual_norm(plan);
    }

    /// One V-cycle: computes the correction for the residual of the finest grid, starting from
    /// zero. For cubes so small that each step is a pass of its own.
    void solve() {
        restrict_down();
        for (std::size_t level = 1; level <= levels_.finest(); ++level) {
            climb(level);
        }
    }

  private:
    static constexpr std::size_t kSolo = 8;  // to this size one thread is faster than a barrier

    /// Sets u to 0, and places the pages of all large grids near the worker that will use them.
    void clear() {
        const auto size = levels_.right_side.size();
        for (const auto* grid : {&levels_.correction.back(), &levels_.right_side, &levels_.spare}) {
            const auto [planes, rows] = tile(size);
            for (auto plane = planes.begin; plane < planes.end; ++plane) {
                grid->clear({plane, plane + 1}, rows);
            }
        }
        member_.wait();
    }

    /// This worker's planes and rows in a sweep. Rows are divided first, as threads with adjacent
    /// planes both compute the seven planes at their border.
    [[nodiscard]] std::pair<Span, Span> tile(std::size_t size) const {
        const int most = static_cast<int>(size / 8);
        const int across = std::min(member_.count(), most);
        const int deep = (member_.count() + across - 1) / across;
        const int total = across * deep;
        // If the count does not fill a rectangle of tiles, only planes are divided.
        if (total != member_.count()) {
            return {share(size, member_.id(), member_.count()),
                    {0, static_cast<std::ptrdiff_t>(size)}};
        }
        return {share(size, member_.id() / across, deep),
                share(size, member_.id() % across, across)};
    }

    /// Runs `work` for this thread's planes of a grid of that size, then waits for the others; the
    /// first thread alone does the smallest grids, without a barrier.
    template <typename Work>
    void for_planes(std::size_t size, const Work& work) {
        if (size > kSolo) {
            work(share(size, member_.id(), member_.count()));
            member_.wait();
        } else if (member_.id() == 0) {
            work(Span{0, static_cast<std::ptrdiff_t>(size)});
        }
    }

    template <typename PerRow>
    void for_rows(std::size_t size, const PerRow& per_row) {
        for_planes(size, [&](Span planes) {
            for (auto plane = planes.begin; plane < planes.end; ++plane) {
                for (std::ptrdiff_t row = 0; row < static_cast<std::ptrdiff_t>(size); ++row) {
                    per_row(plane, row);
                }
            }
        });
    }

    /// Restricts the residual from grid to grid, beginning with the finest, or with the next if a
    /// sweep has already restricted the finest.
    void restrict_down() {
        const auto top = levels_.finest();
        for (auto level = Levels::sweeps(levels_.right_side.size()) ? top - 1 : top; level > 0;
             --level) {
            const auto& fine = levels_.residual[level];
            const auto& coarse = levels_.residual[level - 1];
            for_rows(coarse.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
                with_width(coarse.size(), [&](auto width) {
                    restrict_row<width>(coarse.row(plane, row),
                                        fine.around(2 * plane + 1, 2 * row + 1), coarse.size());
                });
            });
        }
        const auto& coarsest = levels_.correction[0];
        for_rows(coarsest.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
            smooth_row<2>(coarsest.row(plane, row), nullptr, levels_.residual[0].around(plane, row),
                          smoother_, coarsest.size());
        });
    }

    /// u = Q z, then one smoothing, on a grid between the coarsest and the finest.
    void climb(std::size_t level) {
        auto& u = levels_.correction[level];
        const auto& z = levels_.correction[level - 1];
        if (z.size() == kSolo) {
            member_.wait();  // for the thread that did the smallest grids alone
        }
        if (Levels::sweeps(u.size())) {
            SweepPlan plan;
            plan.z = &z;
            plan.v = &levels_.residual[level];
            plan.result = &u;
            plan.smoother = smoother_;
            const auto [planes, rows] = tile(u.size());
            (void)sweep_.run(plan, planes, rows);
            member_.wait();
        } else {
            correct_by_steps(u, nullptr, z, levels_.residual[level], levels_.residual[level]);
        }
    }

    void correct_by_steps(const Grid& u, const Grid* old, const Grid& z, const Grid& v,
                          const Grid& r) {
        for_rows(u.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
            interpolate(u.row(plane, row), old == nullptr ? nullptr : old->row(plane, row), z,
                        plane, row);
        });
        residual_by_steps(u, v, r);
        for_rows(u.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
            with_width(u.size(), [&](auto width) {
                smooth_row<width>(u.row(plane, row), u.row(plane, row), r.around(plane, row),
                                  smoother_, u.size());
            });
        });
    }

    void residual_by_steps(const Grid& u, const Grid& v, const Grid& r) {
        for_rows(u.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
            with_width(u.size(), [&](auto width) {
                residual_row<width>(r.row(plane, row), v.row(plane, row), u.around(plane, row),
                                    u.size());
            });
        });
    }

    double residual_norm(SweepPlan plan) {
        const auto& u = levels_.correction.back();
        const double squares = Levels::sweeps(u.size()) ? sweep_finest(plan) : step_finest(plan);
        if (!plan.measured) {
            return 0;
        }
        const auto edge = static_cast<double>(u.size());
        return std::sqrt(member_.sum(squares) / (edge * edge * edge));
    }

    double sweep_finest(SweepPlan plan) {
        const auto& u = swapped_ ? levels_.spare : levels_.correction.back();
        auto& result = swapped_ ? levels_.correction.back() : levels_.spare;
        plan.u = &u;
        plan.v = &levels_.right_side;
        plan.result = &result;
        plan.streamed = true;
        const bool last = plan.measured && plan.z != nullptr;
        plan.s = last ? nullptr : &levels_.residual[levels_.finest() - 1];
        plan.smoother = smoother_;
        const auto [planes, rows] = tile(u.size());
        const double squares = sweep_.run(plan, planes, rows);
        swapped_ = plan.z != nullptr ? !swapped_ : swapped_;
        member_.wait();
        return squares;
    }

    double step_finest(const SweepPlan& plan) {
        const auto& u = levels_.correction.back();
        const auto& r = levels_.residual.back();
        if (plan.z != nullptr) {
            correct_by_steps(u, &u, *plan.z, levels_.right_side, r);
        }
        residual_by_steps(u, levels_.right_side, r);
        double squares = 0;
        if (plan.measured) {
            for_rows(u.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
                squares += square_sum(r.row(plane, row), r.size());
            });
        }
        return squares;
    }

    Levels& levels_;
    std::array<double, 3> smoother_;
    AnyMember& member_;
    Sweep sweep_;
    bool swapped_ = false;
};

}  // namespace aferir::npb::AFERIR_ISA
