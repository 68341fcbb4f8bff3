#include "internals.hpp"

#include <omp.h>

#include <algorithm>

#include "npb/adi_field.hpp"
#include "npb/bt_lines.hpp"
#include "npb/cg_blocks.hpp"
#include "npb/is_ranking.hpp"
#include "npb/lu_run.hpp"
#include "npb/mg_cycle.hpp"
#include "npb/sp_lines.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_bt(ProblemClass problem, int threads);
Outcome run_sp(ProblemClass problem, int threads);

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

LuRun relax(int size, double time_step, int iterations, int threads, int lanes) {
    const ExactField exact(size);
    LuRun run;
    const auto collect = [&](const LuResult& result, const auto& field) {
        run.residual = result.residual;
        for (int k = 0; k < size; ++k) {
            for (int j = 0; j < size; ++j) {
                for (int i = 0; i < size; ++i) {
                    run.field.push_back(field(Place{i, j, k}));
                }
            }
        }
    };
    const LuPlan plan{size, time_step, iterations, threads};
    if (lanes == 2) {
        run_in_blocks<2>(plan, exact, collect);
    } else if (lanes == 4) {
        run_in_blocks<std::min<std::ptrdiff_t>(4, kLanes)>(plan, exact, collect);
    } else {
        run_in_blocks<kLanes>(plan, exact, collect);
    }
    return run;
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

template <typename PerPlace>
void for_places(int begin, int end, const PerPlace& per_place) {
    for (int k = begin; k < end; ++k) {
        for (int j = begin; j < end; ++j) {
            for (int i = begin; i < end; ++i) {
                per_place(Place{i, j, k});
            }
        }
    }
}

Field field_of(const Flows& flows, const State& padding) {
    Field field(flows.size);
    for (int k = 0; k < flows.size; ++k) {
        field.fill(k, padding);
    }
    for_places(0, flows.size, [&](const Place& place) { field.set(place, flows.at(place)); });
    return field;
}

constexpr State kStill{1, 0, 0, 0, 1};

/// Computes the differences along y and z by rows, then those along x by lines, one line at a time.
Flows right_side(const Flows& states, const Flows& forcing, double time_step) {
    const int size = states.size;
    const auto u = field_of(states, kStill);
    const auto given = field_of(forcing, {});
    const RightSide part(size, time_step);
    Flows result(size);
    std::vector<double> turned(static_cast<std::size_t>(size) * kBlock);
    for (int k = 1; k < size - 1; ++k) {
        for (int block = 0; block < u.inner_blocks(); ++block) {
            std::vector<double> sums(static_cast<std::size_t>(size - 2) * kBlock);
            part.run(u, given, k, 1, size - 2, block, sums.data());
            for (int j = 1; j < size - 1; ++j) {
                const int first = 1 + block * static_cast<int>(kLanes);
                for (int lane = 0; lane < kLanes && first + lane < size - 1; ++lane) {
                    auto& sum = result.at({first + lane, j, k});
                    for (std::size_t m = 0; m < sum.size(); ++m) {
                        sum[m] = sums[static_cast<std::size_t>(j - 1) * kBlock + m * kLanes +
                                      static_cast<std::size_t>(lane)];
                    }
                }
            }
        }
        for (int j = 1; j < size - 1; ++j) {
            for (int i = 0; i < size; ++i) {
                Values same;
                for (std::size_t m = 0; m < same.size(); ++m) {
                    same[m] = broadcast(states.at({i, j, k})[m]);
                }
                store_values(&turned[static_cast<std::size_t>(i) * kBlock], same);
            }
            const Lines line{turned.data(), nullptr, kBlock, kBlock};
            for (int i = 1; i < size - 1; ++i) {
                auto& sum = result.at({i, j, k});
                Values values;
                for (std::size_t m = 0; m < values.size(); ++m) {
                    values[m] = broadcast(sum[m]);
                }
                part.complete(values, line, i, medium_of(load_values(line.state(i - 1))),
                              medium_of(load_values(line.state(i))),
                              medium_of(load_values(line.state(i + 1))));
                for (std::size_t m = 0; m < values.size(); ++m) {
                    sum[m] = values[m][kLanes - 1];
                }
            }
        }
    }
    return result;
}

template <typename Solver>
Flows solve(const Flows& states, const Flows& changes, double time_step, int axis) {
    const int size = states.size;
    const auto u = field_of(states, kStill);
    const auto change = field_of(changes, {});
    const RightSide right_side(size, time_step);
    const Solver solver(right_side, time_step);
    std::vector<double> scratch(static_cast<std::size_t>(size + 1) * Solver::kScratch);
    for (int other = 1; other < size - 1; ++other) {
        for (int block = 0; block < u.inner_blocks(); ++block) {
            if (axis == 1) {
                solver.template solve<1>({u.block(other, 0, block), change.block(other, 0, block),
                                          u.row_step(), change.row_step()},
                                         scratch.data());
            } else {
                solver.template solve<2>({u.block(0, other, block), change.block(0, other, block),
                                          u.plane_step(), change.plane_step()},
                                         scratch.data());
            }
        }
    }
    Flows result(size);
    for_places(0, size, [&](const Place& place) {
        result.at(place) = (axis == 1 ? change : u).state(place);
    });
    return result;
}

}  // namespace

Internals internals() {
    return {"",           multiply, rank,       relax,          residual,       smooth, restricted,
            interpolated, sweep,    right_side, solve<BtLines>, solve<SpLines>, run_bt, run_sp};
}

}  // namespace aferir::npb::AFERIR_ISA
