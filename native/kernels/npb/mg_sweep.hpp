#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "common/memory.hpp"
#include "npb/mg_grid.hpp"
#include "npb/mg_rows.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Steps of one sweep over a grid. In the specification's terms: u' = u + Q z      interpolate the
/// coarser correction    (if there is a `z`) u" = u' + C (v - A u')   residual and smoother
/// (if there is a `z`) r  = v - A u"     the next residual                     (if it is restricted
/// or measured) s  = P r          its restriction to the coarser grid   (if there is an `s`)
struct SweepPlan {
    const Grid* u = nullptr;  ///< null: 0
    const Grid* z = nullptr;
    const Grid* v = nullptr;
    Grid* result = nullptr;  ///< takes u", without ghosts if `streamed`
    bool streamed = false;
    std::span<const Grid> copies;  ///< take those rows of u" that they have, too
    Grid* s = nullptr;
    bool measured = false;  ///< add up the squares of r
    std::array<double, 3> smoother{};

    [[nodiscard]] bool has_residual() const { return s != nullptr || measured; }
};

/// Does all steps of a plan in one pass over memory.
///
/// Done one by one, as the specification writes them, the steps stream 14 grids through memory an
/// iteration. Here each step follows the one before at a distance of one plane, in windows of
/// three planes that stay in cache; memory sees u, v and u" once each, and neither residual at all.
/// Tiles are independent: what a neighbour needs of the rows and planes at a tile's rim is computed
/// twice (overlapped tiling), up to four rows, so that there is no barrier within a sweep.
class Sweep {
  public:
    static constexpr std::ptrdiff_t kTileRows = 32;

    /// Makes a sweep for grids up to `size`.
    explicit Sweep(std::size_t size)
        : pitch_(static_cast<std::ptrdiff_t>(size + 2 * kGhosts)),
          plane_((kTileRows + kRim) * pitch_),
          data_(static_cast<std::size_t>(kWindows * kDepth * plane_)) {}

    /// Computes these planes and rows, whose bounds are even; returns the sum of squares of r
    /// there.
    double run(const SweepPlan& plan, Span planes, Span rows) {
        double squares = 0;
        for (auto row = rows.begin; row < rows.end; row += kTileRows) {
            const Span tile{row, std::min(row + kTileRows, rows.end)};
            squares += run_tile(plan, planes, tile);
        }
        if (plan.streamed) {
            stream_fence();
        }
        return squares;
    }

  private:
    static constexpr std::ptrdiff_t kRim = 7;  // rows before and after a tile, at most
    static constexpr std::ptrdiff_t kDepth = 3;
    static constexpr std::ptrdiff_t kWindows = 4;

    enum Window : std::ptrdiff_t { kCorrected, kResidual, kSmoothed, kNextResidual };

    [[nodiscard]] double* row(Window window, std::ptrdiff_t plane, std::ptrdiff_t index) const {
        const auto slot = window * kDepth + (plane + 2 * kDepth) % kDepth;
        return data_.data() + slot * plane_ + (index - first_row_) * pitch_ + kGhosts;
    }

    [[nodiscard]] Neighbours around(Window window, std::ptrdiff_t plane,
                                    std::ptrdiff_t index) const {
        Neighbours rows{};
        for (std::ptrdiff_t i = 0; i < 9; ++i) {
            rows[static_cast<std::size_t>(i)] = row(window, plane + i / 3 - 1, index + i % 3 - 1);
        }
        return rows;
    }

    double run_tile(const SweepPlan& plan, Span planes, Span rows) {
        plan_ = plan;
        size_ = plan.v->size();
        planes_ = planes;
        rows_ = rows;
        squares_ = 0;
        // The next residual reaches one plane past the tile, the last that a restriction reads.
        const std::ptrdiff_t more = plan.has_residual() ? 1 : 0;
        first_row_ = rows.begin - 2 - more;
        const auto all = planes.widened(2 + more, 2 + 2 * more + 3);
        for (auto plane = all.begin; plane < all.end; ++plane) {
            if (plan.z != nullptr) {
                correct(plane, more);
                residual(plane - 1, more);
                smooth(plane - 2, more);
            } else {
                fetch(plane - 2, more);
            }
            if (plan.has_residual()) {
                next_residual(plane - 3);
            }
        }
        return squares_;
    }

    /// Calls `work` for the rows of a step that reaches `before` and `after` past the tile.
    template <typename Work>
    void for_rows(std::ptrdiff_t plane, std::ptrdiff_t before, std::ptrdiff_t after,
                  const Work& work) const {
        if (planes_.widened(before, after).contains(plane)) {
            const auto reach = rows_.widened(before, after);
            for (auto index = reach.begin; index < reach.end; ++index) {
                work(index);
            }
        }
    }

    void correct(std::ptrdiff_t plane, std::ptrdiff_t more) const {
        for_rows(plane, 2 + more, 2 + 2 * more, [&](std::ptrdiff_t index) {
            const double* const old = plan_.u == nullptr ? nullptr : plan_.u->row(plane, index);
            // The hardware's prefetcher does not predict a tile's rows in the next plane.
            if (old != nullptr) {
                prefetch_row(plan_.u->row(plane + 1, index), size_);
            }
            prefetch_row(plan_.v->row(plane, index), size_);
            interpolate(row(kCorrected, plane, index), old, *plan_.z, plane, index);
        });
    }

    void residual(std::ptrdiff_t plane, std::ptrdiff_t more) const {
        for_rows(plane, 1 + more, 1 + 2 * more, [&](std::ptrdiff_t index) {
            residual_row<kLanes>(row(kResidual, plane, index), plan_.v->row(plane, index),
                                 around(kCorrected, plane, index), size_);
        });
    }

    void smooth(std::ptrdiff_t plane, std::ptrdiff_t more) const {
        for_rows(plane, more, 2 * more, [&](std::ptrdiff_t index) {
            double* const out = row(kSmoothed, plane, index);
            smooth_row<kLanes>(out, row(kCorrected, plane, index), around(kResidual, plane, index),
                               plan_.smoother, size_);
            if (planes_.contains(plane) && rows_.contains(index)) {
                keep(plan_.result->row(plane, index), out);
                for (const auto& copy : plan_.copies) {
                    if (copy.has(plane, index)) {
                        keep(copy.row(plane, index), out);
                    }
                }
            }
        });
    }

    void keep(double* out, const double* smoothed) const {
        if (plan_.streamed) {
            stream_row(out, smoothed, size_);
        } else {
            std::memcpy(out - kGhosts, smoothed - kGhosts, (size_ + 2 * kGhosts) * sizeof(double));
        }
    }

    /// Copies u to where the next step reads the smoothed grid: without a correction, they are the
    /// same.
    void fetch(std::ptrdiff_t plane, std::ptrdiff_t more) const {
        for_rows(plane, more, 2 * more, [&](std::ptrdiff_t index) {
            double* const out = row(kSmoothed, plane, index);
            std::memcpy(out, plan_.u->row(plane, index), size_ * sizeof(double));
            wrap_row(out, size_);
        });
    }

    void next_residual(std::ptrdiff_t plane) {
        for_rows(plane, 0, 1, [&](std::ptrdiff_t index) {
            double* const out = row(kNextResidual, plane, index);
            residual_row<kLanes>(out, plan_.v->row(plane, index), around(kSmoothed, plane, index),
                                 size_);
            if (plan_.measured && planes_.contains(plane) && rows_.contains(index)) {
                squares_ += square_sum(out, size_);
            }
        });
        const bool complete = plane % 2 == 0 && plane > planes_.begin && plane <= planes_.end;
        if (plan_.s == nullptr || !complete) {
            return;
        }
        for (auto index = rows_.begin / 2; index < rows_.end / 2; ++index) {
            restrict_row<kLanes>(plan_.s->row(plane / 2 - 1, index),
                                 around(kNextResidual, plane - 1, 2 * index + 1), plan_.s->size());
        }
    }

    std::ptrdiff_t pitch_;
    std::ptrdiff_t plane_;
    HugeArray<double> data_;
    SweepPlan plan_;
    std::size_t size_ = 0;
    Span planes_{};
    Span rows_{};
    std::ptrdiff_t first_row_ = 0;
    double squares_ = 0;
};

}  // namespace aferir::npb::AFERIR_ISA
