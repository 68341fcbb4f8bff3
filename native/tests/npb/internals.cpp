#include "internals.hpp"

#include <omp.h>

#include <algorithm>

#include "npb/cg_blocks.hpp"
#include "npb/is_ranking.hpp"
#include "npb/mg_cycle.hpp"

namespace aferir::npb::AFERIR_ISA {
namespace {

std::vector<double> multiply(const SparseMatrix& a, int parts, std::vector<double> x) {
    std::vector<double> y(a.order() + 1, -1.0);
    for (int part = 0; part < parts; ++part) {
        BlockedRows(a, share_rows(a, part, parts)).multiply(x.data(), y.data());
    }
    y.resize(a.order());
    return y;
}

std::vector<std::uint32_t> rank(std::span<const std::uint32_t> keys, std::size_t key_range,
                                int threads) {
    std::vector<std::uint32_t> padded(keys.begin(), keys.end());
    padded.resize(keys.size() + Histogram::kAhead + Histogram::kTogether);
    const auto all = std::span<const std::uint32_t>(padded).first(keys.size());
    Ranking ranking(key_range, threads);
    Meeting meeting(threads);
#pragma omp parallel num_threads(threads)
    {
        Member member(meeting);
        const auto begin = part_begin(keys.size(), member.id(), member.count());
        const auto end = part_begin(keys.size(), member.id() + 1, member.count());
        ranking.prepare(member, end - begin);
        member.wait();
        ranking.rank(member, all.subspan(begin, end - begin));
        ranking.rank(member, all.subspan(begin, end - begin));  // must begin from nothing again
    }
    const auto ranks = ranking.ranks();
    return {ranks.begin(), ranks.end()};
}

template <typename PerRow>
void for_rows(std::size_t size, const PerRow& per_row) {
    for (std::ptrdiff_t plane = 0; plane < static_cast<std::ptrdiff_t>(size); ++plane) {
        for (std::ptrdiff_t row = 0; row < static_cast<std::ptrdiff_t>(size); ++row) {
            per_row(plane, row);
        }
    }
}

Grid grid_of(const Cube& cube) {
    Grid grid(cube.size);
    for_rows(cube.size, [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        std::copy_n(&cube.points[cube.place(plane, row, 0)], cube.size, grid.row(plane, row));
        wrap_row(grid.row(plane, row), cube.size);
    });
    return grid;
}

Cube cube_of(const Grid& grid) {
    Cube cube(grid.size());
    for_rows(cube.size, [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        std::copy_n(grid.row(plane, row), cube.size, &cube.points[cube.place(plane, row, 0)]);
    });
    return cube;
}

Cube residual(const Cube& v, const Cube& u) {
    const auto out = grid_of(v);
    const auto grid = grid_of(u);
    for_rows(u.size, [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        with_width(u.size, [&](auto width) {
            residual_row<width>(out.row(plane, row), out.row(plane, row), grid.around(plane, row),
                                u.size);
        });
    });
    return cube_of(out);
}

Cube smooth(const Cube& u, const Cube& r, const std::array<double, 3>& smoother) {
    const auto out = grid_of(u);
    const auto grid = grid_of(r);
    for_rows(u.size, [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        with_width(u.size, [&](auto width) {
            smooth_row<width>(out.row(plane, row), out.row(plane, row), grid.around(plane, row),
                              smoother, u.size);
        });
    });
    return cube_of(out);
}

Cube restricted(const Cube& fine) {
    const auto grid = grid_of(fine);
    const Grid out(fine.size / 2);
    for_rows(out.size(), [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        with_width(out.size(), [&](auto width) {
            restrict_row<width>(out.row(plane, row), grid.around(2 * plane + 1, 2 * row + 1),
                                out.size());
        });
    });
    return cube_of(out);
}

Cube interpolated(const Cube& u, const Cube& coarse) {
    const auto out = grid_of(u);
    const auto grid = grid_of(coarse);
    for_rows(u.size, [&](std::ptrdiff_t plane, std::ptrdiff_t row) {
        interpolate(out.row(plane, row), out.row(plane, row), grid, plane, row);
    });
    return cube_of(out);
}

SweepResult sweep(const Cube& u, const Cube& z, const Cube& v,
                  const std::array<double, 3>& smoother, int cuts) {
    const auto old = grid_of(u);
    const auto correction = grid_of(z);
    const auto right_side = grid_of(v);
    Grid result(u.size);
    Grid coarse(u.size / 2);
    SweepPlan plan;
    plan.u = &old;
    plan.z = &correction;
    plan.v = &right_side;
    plan.result = &result;
    plan.streamed = true;
    plan.s = &coarse;
    plan.measured = true;
    plan.smoother = smoother;
    Sweep worker(u.size);
    double squares = 0;
    for (int i = 0; i < cuts * cuts; ++i) {
        squares += worker.run(plan, share(u.size, i / cuts, cuts), share(u.size, i % cuts, cuts));
    }
    return {cube_of(result), cube_of(coarse), squares};
}

}  // namespace

Internals internals() {
    return {"", multiply, rank, residual, smooth, restricted, interpolated, sweep};
}

}  // namespace aferir::npb::AFERIR_ISA
