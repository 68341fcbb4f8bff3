#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "npb/mg_cycle.hpp"
#include "npb/mg_grid.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Distribution of a cube over the ranks: planes among the rows of the grid of processes, rows of
/// points among its columns. (Ranks with adjacent planes compute some of each other's again, see
/// Sweep; rows cost nothing.)
class Shares {
  public:
    // Number of planes and rows that a sweep with a residual reads beyond its tile.
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
        return {size, planes_with_rim(rank_, size), rows_with_rim(rank_, size)};
    }
    /// Grid for the part of any rank, in the caller's memory; the parts of all ranks need the same
    /// number of doubles.
    [[nodiscard]] Grid make_grid(std::size_t size, int rank, double* memory) const {
        return {size, planes_with_rim(rank, size), rows_with_rim(rank, size), memory};
    }
    [[nodiscard]] std::size_t grid_values(std::size_t size) const {
        return Grid::values(size, planes_with_rim(rank_, size), rows_with_rim(rank_, size));
    }

    [[nodiscard]] bool shares_planes() const { return grid_.rows > 1; }
    [[nodiscard]] bool shares_rows() const { return grid_.columns > 1; }
    /// The rank `step` parts away in the direction of planes or rows; the cube is periodic.
    [[nodiscard]] int plane_neighbour(int step) const {
        const int row = (grid_.row_of(rank_) + step + grid_.rows) % grid_.rows;
        return grid_.rank_at(row, grid_.column_of(rank_));
    }
    [[nodiscard]] int row_neighbour(int step) const {
        const int column = (grid_.column_of(rank_) + step + grid_.columns) % grid_.columns;
        return grid_.rank_at(grid_.row_of(rank_), column);
    }

  private:
    [[nodiscard]] Span planes_with_rim(int rank, std::size_t size) const {
        return with_rim(planes_of(rank, size), grid_.rows);
    }
    [[nodiscard]] Span rows_with_rim(int rank, std::size_t size) const {
        return with_rim(rows_of(rank, size), grid_.columns);
    }

    static Span with_rim(Span own, int parts) {
        return parts > 1 ? own.widened(kBefore, kAfter) : own;
    }

    ProcessGrid grid_;
    int rank_;
};

/// A rank's part of a cube. The other ranks of its host write its rim during their sweeps.
class SharedGrid {
  public:
    SharedGrid(const Shares& shares, const Ranks& ranks, std::size_t size)
        : memory_(ranks, shares.grid_values(size)),
          own_(shares.make_grid(size, ranks.id(), memory_.of(ranks.hosts().place))) {
        const auto& mates = ranks.hosts().mates();
        for (std::size_t i = 0; i < mates.size(); ++i) {
            auto grid = shares.make_grid(size, mates[i], memory_.of(i));
            if (mates[i] != ranks.id() && overlaps(grid, shares.planes(size), shares.rows(size))) {
                rims_.push_back(std::move(grid));
            }
        }
    }

    [[nodiscard]] Grid& own() { return own_; }
    /// Parts of other ranks on this host whose rims overlap this rank's rows.
    [[nodiscard]] std::span<const Grid> rims() const { return rims_; }

  private:
    static bool overlaps(const Grid& grid, Span planes, Span rows) {
        for (auto plane = planes.begin; plane < planes.end; ++plane) {
            for (auto row = rows.begin; row < rows.end; ++row) {
                if (grid.has(plane, row)) {
                    return true;
                }
            }
        }
        return false;
    }

    SharedArray<double> memory_;
    Grid own_;
    std::vector<Grid> rims_;
};

/// Fetches the adjacent rows and planes of a rank's part of a grid: first rows, then planes, which
/// include the rims of their rows.
class Halo {
  public:
    /// `written`: ranks of one host write each other's rims themselves (SharedGrid), and only wait
    /// for one another here.
    Halo(const Shares& shares, const Ranks& ranks, bool written)
        : shares_(shares), ranks_(ranks), written_(written) {}

    /// `before` and `after`: number of planes and rows. The rim must not be written until finish().
    void start(const Grid& grid, std::ptrdiff_t before, std::ptrdiff_t after) {
        grid_ = &grid;
        before_ = before;
        after_ = after;
        if (!shares_.shares_rows()) {
            return;
        }
        const auto rows = shares_.rows(grid.size());
        const int next = shares_.row_neighbour(1);
        const int previous = shares_.row_neighbour(-1);
        if (!is_done_by(next)) {
            pack({rows.end - before, rows.end}, outgoing_[0]);
            incoming_[1].resize(packed_size(after));
            messages_.receive(next, std::span(incoming_[1]), kAfterTag);
            messages_.send(next, std::span<const double>(outgoing_[0]), kBeforeTag);
        }
        if (!is_done_by(previous)) {
            pack({rows.begin, rows.begin + after}, outgoing_[1]);
            incoming_[0].resize(packed_size(before));
            messages_.receive(previous, std::span(incoming_[0]), kBeforeTag);
            messages_.send(previous, std::span<const double>(outgoing_[1]), kAfterTag);
        }
    }

    void finish() {
        messages_.wait();
        if (shares_.shares_rows()) {
            const auto rows = shares_.rows(grid_->size());
            if (!is_done_by(shares_.row_neighbour(-1))) {
                unpack(incoming_[0], {rows.begin - before_, rows.begin});
            }
            if (!is_done_by(shares_.row_neighbour(1))) {
                unpack(incoming_[1], {rows.end, rows.end + after_});
            }
        }
        if (written_) {
            ranks_.wait_for_mates();
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
    // Tags differ by side, as both neighbours may be the same rank.
    static constexpr int kBeforeTag = 1;
    static constexpr int kAfterTag = 2;

    [[nodiscard]] bool is_done_by(int neighbour) const {
        const auto& mates = ranks_.hosts().mates();
        return written_ && std::find(mates.begin(), mates.end(), neighbour) != mates.end();
    }

    /// Whether the ranks of this host write all of a neighbour's planes themselves. These include
    /// rows of other ranks with the same planes; if one of those is on another host, a message is
    /// needed.
    [[nodiscard]] bool are_planes_done_by(int neighbour) const {
        const auto size = grid_->size();
        for (int rank = 0; rank < ranks_.count(); ++rank) {
            const auto first = shares_.planes_of(rank, size).begin;
            const bool matters = first == shares_.planes(size).begin ||
                                 first == shares_.planes_of(neighbour, size).begin;
            if (matters && !is_done_by(rank)) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::size_t packed_size(std::ptrdiff_t rows) const {
        return static_cast<std::size_t>(shares_.planes(grid_->size()).size() * rows) *
               grid_->pitch();
    }

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

    /// Calls `use` with these rows of each of this rank's planes; the rows are contiguous.
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
        if (!are_planes_done_by(next)) {
            messages_.receive(next, planes_at({planes.end, planes.end + after_}), kAfterTag);
            messages_.send(next,
                           std::span<const double>(planes_at({planes.end - before_, planes.end})),
                           kBeforeTag);
        }
        if (!are_planes_done_by(previous)) {
            messages_.receive(previous, planes_at({planes.begin - before_, planes.begin}),
                              kBeforeTag);
            messages_.send(
                previous, std::span<const double>(planes_at({planes.begin, planes.begin + after_})),
                kAfterTag);
        }
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
    const Ranks& ranks_;
    bool written_;
    const Grid* grid_ = nullptr;
    std::ptrdiff_t before_ = 0;
    std::ptrdiff_t after_ = 0;
    std::array<std::vector<double>, 2> outgoing_;
    std::array<std::vector<double>, 2> incoming_;
    Messages messages_;
};

}  // namespace aferir::npb::AFERIR_ISA
