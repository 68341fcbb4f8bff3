#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/mg_cycle.hpp"
#include "npb/mg_grid.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// How the ranks share a cube: planes among the rows of the grid of processes, rows of points among
/// its columns. (Ranks that share planes redo some of each other's, see Sweep; rows cost nothing.)
class Shares {
  public:
    // As far as a sweep with a residual reads past its tile.
    static constexpr std::ptrdiff_t kBefore = 3;
    static constexpr std::ptrdiff_t kAfter = 4;

    explicit Shares(const Ranks& ranks) : grid_(process_grid(ranks.count())), rank_(ranks.id()) {}

    [[nodiscard]] Span planes(std::size_t size) const { return planes_of(rank_, size); }
    [[nodiscard]] Span rows(std::size_t size) const { return rows_of(rank_, size); }
    [[nodiscard]] Span planes_of(int rank, std::size_t size) const {
        return share(size, grid_.row_of(rank), grid_.rows);
    }
    [[nodiscard]] Span rows_of(int rank, std::size_t size) const {
        return share(size, grid_.column_of(rank), grid_.columns);
    }

    /// This rank's part of a cube with room for its neighbours' rims.
    [[nodiscard]] Grid make_grid(std::size_t size) const {
        return {size, with_rim(planes(size), grid_.rows), with_rim(rows(size), grid_.columns)};
    }

    [[nodiscard]] bool shares_planes() const { return grid_.rows > 1; }
    [[nodiscard]] bool shares_rows() const { return grid_.columns > 1; }
    /// The rank `step` further in the direction of planes or rows, around the cube.
    [[nodiscard]] int plane_neighbour(int step) const {
        const int row = (grid_.row_of(rank_) + step + grid_.rows) % grid_.rows;
        return grid_.rank_at(row, grid_.column_of(rank_));
    }
    [[nodiscard]] int row_neighbour(int step) const {
        const int column = (grid_.column_of(rank_) + step + grid_.columns) % grid_.columns;
        return grid_.rank_at(grid_.row_of(rank_), column);
    }

  private:
    static Span with_rim(Span own, int parts) {
        return parts > 1 ? own.widened(kBefore, kAfter) : own;
    }

    ProcessGrid grid_;
    int rank_;
};

/// Fetches from the neighbours the rows and planes around this rank's part of a grid: first rows,
/// then planes, which bring their rows' rims along.
class Halo {
  public:
    explicit Halo(const Shares& shares) : shares_(shares) {}

    /// `before` and `after`: how far. Until finish() the part's rim must not be written.
    void start(const Grid& grid, std::ptrdiff_t before, std::ptrdiff_t after) {
        grid_ = &grid;
        before_ = before;
        after_ = after;
        if (!shares_.shares_rows()) {
            return;
        }
        const auto rows = shares_.rows(grid.size());
        pack({rows.end - before, rows.end}, outgoing_[0]);
        pack({rows.begin, rows.begin + after}, outgoing_[1]);
        incoming_[0].resize(outgoing_[0].size());
        incoming_[1].resize(outgoing_[1].size());
        const int next = shares_.row_neighbour(1);
        const int previous = shares_.row_neighbour(-1);
        messages_.receive(previous, std::span(incoming_[0]), kBeforeTag);
        messages_.receive(next, std::span(incoming_[1]), kAfterTag);
        messages_.send(next, std::span<const double>(outgoing_[0]), kBeforeTag);
        messages_.send(previous, std::span<const double>(outgoing_[1]), kAfterTag);
    }

    void finish() {
        messages_.wait();
        if (shares_.shares_rows()) {
            const auto rows = shares_.rows(grid_->size());
            unpack(incoming_[0], {rows.begin - before_, rows.begin});
            unpack(incoming_[1], {rows.end, rows.end + after_});
        }
        if (shares_.shares_planes()) {
            exchange_planes();
        }
    }

    void exchange(const Grid& grid, std::ptrdiff_t before, std::ptrdiff_t after) {
        start(grid, before, after);
        finish();
    }

  private:
    // Two neighbours may be one rank, on both sides.
    static constexpr int kBeforeTag = 1;
    static constexpr int kAfterTag = 2;

    void pack(Span rows, std::vector<double>& buffer) const {
        buffer.clear();
        for_planes(rows, [&](const double* begin, std::size_t size) {
            buffer.insert(buffer.end(), begin, begin + size);
        });
    }

    void unpack(const std::vector<double>& buffer, Span rows) const {
        const double* source = buffer.data();
        for_planes(rows, [&](double* begin, std::size_t size) {
            std::memcpy(begin, source, size * sizeof(double));
            source += size;
        });
    }

    /// Calls `use` with these rows of each plane of this rank's, which are contiguous.
    template <typename Use>
    void for_planes(Span rows, const Use& use) const {
        const auto planes = shares_.planes(grid_->size());
        const auto size = static_cast<std::size_t>(rows.size()) * grid_->pitch();
        for (auto plane = planes.begin; plane < planes.end; ++plane) {
            use(grid_->row(plane, rows.begin) - kGhosts, size);
        }
    }

    void exchange_planes() {
        const auto planes = shares_.planes(grid_->size());
        const int next = shares_.plane_neighbour(1);
        const int previous = shares_.plane_neighbour(-1);
        messages_.receive(previous, planes_at({planes.begin - before_, planes.begin}), kBeforeTag);
        messages_.receive(next, planes_at({planes.end, planes.end + after_}), kAfterTag);
        messages_.send(next, std::span<const double>(planes_at({planes.end - before_, planes.end})),
                       kBeforeTag);
        messages_.send(previous,
                       std::span<const double>(planes_at({planes.begin, planes.begin + after_})),
                       kAfterTag);
        messages_.wait();
    }

    /// Whole planes as they are stored, rims too.
    [[nodiscard]] std::span<double> planes_at(Span planes) const {
        const auto size = grid_->size();
        const auto first = shares_.planes(size).begin - Shares::kBefore;
        return grid_->data().subspan(
            static_cast<std::size_t>(planes.begin - first) * grid_->plane_pitch(),
            static_cast<std::size_t>(planes.size()) * grid_->plane_pitch());
    }

    const Shares& shares_;
    const Grid* grid_ = nullptr;
    std::ptrdiff_t before_ = 0;
    std::ptrdiff_t after_ = 0;
    std::array<std::vector<double>, 2> outgoing_;
    std::array<std::vector<double>, 2> incoming_;
    Messages messages_;
};

}  // namespace aferir::npb::AFERIR_ISA
