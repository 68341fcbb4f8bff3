#pragma once

#include <cstddef>
#include <vector>

#include "common/memory.hpp"
#include "npb/pseudo_application.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Half-open range of a front's blocks.
struct LuShare {
    std::ptrdiff_t begin;
    std::ptrdiff_t end;
};

/// The inner points of a cube that belong to one process: ranges of i and j, and every k.
struct Pencil {
    int size;  ///< points along an edge of the cube
    GridRange i;
    GridRange j;
};

inline Pencil whole_pencil(int size) { return {size, {1, size - 1}, {1, size - 1}}; }

/// The order in which LU stores and visits the points of its pencil and of the rim that the
/// residual reads: 1 point deep at the cube's boundary, 2 deep next to another process.
///
/// A column has the points of one j, along i (with rims) and then along k, in consecutive slots,
/// `period` of them to a plane. Slot s of column c is in front s + c. So a point's neighbours along
/// i, j, k are 1, 1 and `period` fronts away, and no point of a front depends on another in a
/// sweep: the lanes of a block are neighbouring columns, threads have ranges of blocks, and every
/// neighbour is at a constant distance in memory. A front passes from one plane k to the next
/// without a gap.
class Fronts {
  public:
    Fronts(int size, int lanes) : Fronts(whole_pencil(size), lanes) {}

    Fronts(const Pencil& pencil, int lanes)
        : pencil_(pencil),
          lanes_(lanes),
          period_(reach(pencil.i).size()),
          blocks_((reach(pencil.j).size() + lanes - 1) / lanes) {}

    [[nodiscard]] const Pencil& pencil() const { return pencil_; }
    [[nodiscard]] std::ptrdiff_t size() const { return pencil_.size; }
    [[nodiscard]] std::ptrdiff_t lanes() const { return lanes_; }
    [[nodiscard]] std::ptrdiff_t period() const { return period_; }
    /// Columns with points inside the cube.
    [[nodiscard]] std::ptrdiff_t columns() const { return pencil_.j.size(); }

    /// A range of the pencil with its rims.
    [[nodiscard]] GridRange reach(GridRange range) const {
        return {range.begin - (range.begin == 1 ? 1 : 2),
                range.end + (range.end == pencil_.size - 1 ? 1 : 2)};
    }

    /// Number of blocks of a front. Points before column 0 are kept in the free last lanes of an
    /// earlier front, so no block is needed before the first.
    [[nodiscard]] std::ptrdiff_t blocks() const { return blocks_; }
    /// Blocks that have points inside the cube: the first ones.
    [[nodiscard]] std::ptrdiff_t inner_blocks() const { return (columns() + lanes_ - 1) / lanes_; }

    /// Range of blocks of part `part` of `parts`; there are at most as many parts as inner blocks.
    [[nodiscard]] LuShare share(int part, int parts) const {
        return {part * inner_blocks() / parts, (part + 1) * inner_blocks() / parts};
    }

    [[nodiscard]] std::ptrdiff_t column(int j) const { return j - pencil_.j.begin; }
    /// Number of the block with the points of this j; -1 for the rim before the pencil.
    [[nodiscard]] std::ptrdiff_t block_of(int j) const { return (column(j) + lanes_) / lanes_ - 1; }
    [[nodiscard]] std::ptrdiff_t front(const Place& place) const {
        const auto slot = place[0] - reach(pencil_.i).begin;
        return period_ * place[2] + slot + column(place[1]);
    }

    /// The fronts that have points inside the cube: [first, end).
    [[nodiscard]] std::ptrdiff_t first() const {
        return front({pencil_.i.begin, pencil_.j.begin, 1});
    }
    [[nodiscard]] std::ptrdiff_t end() const {
        return front({pencil_.i.end - 1, pencil_.j.end - 1, pencil_.size - 2}) + 1;
    }

    /// The fronts that their neighbours' neighbours are in: [lowest, highest).
    [[nodiscard]] std::ptrdiff_t lowest() const { return -period_ - 2; }
    [[nodiscard]] std::ptrdiff_t highest() const { return end() + 2 * period_ + 4; }

  private:
    Pencil pencil_;
    std::ptrdiff_t lanes_;
    std::ptrdiff_t period_;
    std::ptrdiff_t blocks_;
};

/// `Quantities` numbers for each point: [part][front][block][quantity][lane]. Each worker's blocks
/// are a part of their own: otherwise its processor would prefetch what other workers write.
template <int Quantities>
class FrontArray {
  public:
    /// `allocate` makes a HugeArray of so many doubles.
    template <typename Allocate>
    FrontArray(const Fronts& fronts, int parts, const Allocate& allocate)
        : fronts_(fronts),
          data_(allocate(static_cast<std::size_t>((fronts.highest() - fronts.lowest()) *
                                                  fronts.blocks() * block_stride()))) {
        columns_.resize(static_cast<std::size_t>(fronts.blocks() + 2));
        double* data = data_.data();
        for (int part = 0; part < parts; ++part) {
            auto [begin, end] = fronts.share(part, parts);
            end = part + 1 == parts ? fronts.blocks() : end;
            const auto stride = (end - begin) * block_stride();
            for (auto block = begin; block < end; ++block) {
                column(block) = {data - fronts.lowest() * stride + (block - begin) * block_stride(),
                                 stride};
            }
            data += stride * (fronts.highest() - fronts.lowest());
        }
        const auto& last = column(fronts.blocks() - 1);
        column(-1) = {last.origin - last.stride, last.stride};
        column(fronts.blocks()) = {column(0).origin + column(0).stride, column(0).stride};
    }

    /// `block` may be one before the first or after the last.
    [[nodiscard]] double* at(std::ptrdiff_t front, std::ptrdiff_t block) const {
        const auto& [origin, stride] = columns_[static_cast<std::size_t>(block + 1)];
        return origin + front * stride;
    }

    /// Doubles from a front to the next.
    [[nodiscard]] std::ptrdiff_t stride(std::ptrdiff_t block) const {
        return columns_[static_cast<std::size_t>(block + 1)].stride;
    }

    /// The first quantity of a point; the next are `lanes` apart.
    [[nodiscard]] double* at(const Place& place) const {
        const auto lanes = fronts_.lanes();
        const auto column = fronts_.column(place[1]) + lanes;
        return at(fronts_.front(place), fronts_.block_of(place[1])) + column % lanes;
    }

  private:
    struct Column {
        double* origin = nullptr;  ///< in front 0
        std::ptrdiff_t stride = 0;
    };

    [[nodiscard]] std::ptrdiff_t block_stride() const { return Quantities * fronts_.lanes(); }
    [[nodiscard]] Column& column(std::ptrdiff_t block) {
        return columns_[static_cast<std::size_t>(block + 1)];
    }

    Fronts fronts_;
    HugeArray<double> data_;
    std::vector<Column> columns_;
};

}  // namespace aferir::npb::AFERIR_ISA
