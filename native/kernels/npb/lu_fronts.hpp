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

/// The order in which LU stores and visits the points of its cube.
///
/// Point (i, j, k) is in column j - 1 of front `size k + i + j - 1`. Its neighbours along i, j, k
/// are 1, 1 and `size` fronts away, so no point of a front depends on another in a sweep: the lanes
/// of a block are neighbouring columns, threads have ranges of blocks, and every neighbour is at a
/// constant distance in memory. A front passes from one plane k to the next without a gap.
class Fronts {
  public:
    Fronts(int size, int lanes) : size_(size), lanes_(lanes), blocks_((size + lanes - 1) / lanes) {}

    [[nodiscard]] std::ptrdiff_t size() const { return size_; }
    [[nodiscard]] std::ptrdiff_t lanes() const { return lanes_; }

    /// Blocks of a front. The last lane is free for the next front's point with j = 0, whose column
    /// is -1, so no block is needed before the first.
    [[nodiscard]] std::ptrdiff_t blocks() const { return blocks_; }
    /// Blocks that have points inside the cube: the first ones.
    [[nodiscard]] std::ptrdiff_t inner_blocks() const { return (size_ - 2 + lanes_ - 1) / lanes_; }

    /// The blocks of one of `parts`, of which there are at most as many as inner blocks.
    [[nodiscard]] LuShare share(int part, int parts) const {
        return {part * inner_blocks() / parts, (part + 1) * inner_blocks() / parts};
    }

    /// The fronts that have points inside the cube: [first, end).
    [[nodiscard]] std::ptrdiff_t first() const { return size_ + 1; }
    [[nodiscard]] std::ptrdiff_t end() const { return size_ * size_ - 4; }

    /// The fronts that their neighbours' neighbours are in: [lowest, highest).
    [[nodiscard]] std::ptrdiff_t lowest() const { return -size_ - 2; }
    [[nodiscard]] std::ptrdiff_t highest() const { return size_ * size_ + 2 * size_; }

  private:
    std::ptrdiff_t size_;
    std::ptrdiff_t lanes_;
    std::ptrdiff_t blocks_;
};

/// `Quantities` numbers for each point: [part][front][block][quantity][lane]. The parts are the
/// blocks of the threads: were they not apart, each processor would prefetch what others write.
template <int Quantities>
class FrontArray {
  public:
    FrontArray(const Fronts& fronts, int parts)
        : fronts_(fronts),
          data_(static_cast<std::size_t>((fronts.highest() - fronts.lowest()) * fronts.blocks() *
                                         block_stride())) {
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
        const auto column = place[1] - 1 + lanes;
        const auto front = fronts_.size() * place[2] + place[0] + place[1] - 1;
        return at(front, column / lanes - 1) + column % lanes;
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
