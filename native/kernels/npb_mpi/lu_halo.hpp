#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "npb/lu_fronts.hpp"
#include "npb_mpi/lu_links.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Fetches the states of the points next to this process's pencil, two deep, from the processes
/// that have them.
template <int W>
class LuHalo {
  public:
    LuHalo(const FrontArray<6>& u, const Fronts& fronts, Beside along_i, Beside along_j)
        : u_(u), fronts_(fronts) {
        const auto [i, j] = std::pair(fronts.pencil().i, fronts.pencil().j);
        add(along_i.before, {i.begin, i.begin + kDepth}, j, {i.begin - kDepth, i.begin}, j, kTagI);
        add(along_i.after, {i.end - kDepth, i.end}, j, {i.end, i.end + kDepth}, j, kTagI);
        add(along_j.before, i, {j.begin, j.begin + kDepth}, i, {j.begin - kDepth, j.begin}, kTagJ);
        add(along_j.after, i, {j.end - kDepth, j.end}, i, {j.end, j.end + kDepth}, kTagJ);
    }

    void exchange() {
        for (auto& side : sides_) {
            messages_.receive(side.rank, std::span(side.incoming), side.tag);
        }
        for (auto& side : sides_) {
            double* target = side.outgoing.data();
            for_points(side.send_i, side.send_j, [&](const double* point) {
                for (std::ptrdiff_t m = 0; m < kQuantities; ++m) {
                    *target++ = point[m * W];
                }
            });
            messages_.send(side.rank, std::span<const double>(side.outgoing), side.tag);
        }
        messages_.wait();
        for (const auto& side : sides_) {
            const double* source = side.incoming.data();
            for_points(side.receive_i, side.receive_j, [&](double* point) {
                for (std::ptrdiff_t m = 0; m < kQuantities; ++m) {
                    point[m * W] = *source++;
                }
            });
        }
    }

  private:
    static constexpr int kDepth = 2;
    static constexpr std::ptrdiff_t kQuantities = 6;
    static constexpr int kTagI = 3;
    static constexpr int kTagJ = 4;

    /// One adjacent process.
    struct Side {
        int rank;
        int tag;
        GridRange send_i;
        GridRange send_j;
        GridRange receive_i;
        GridRange receive_j;
        std::vector<double> outgoing;
        std::vector<double> incoming;
    };

    void add(int rank, GridRange send_i, GridRange send_j, GridRange receive_i, GridRange receive_j,
             int tag) {
        if (rank >= 0) {
            const auto points = static_cast<std::size_t>(send_i.size()) *
                                static_cast<std::size_t>(send_j.size()) *
                                static_cast<std::size_t>(fronts_.size() - 2);
            sides_.push_back({rank, tag, send_i, send_j, receive_i, receive_j,
                              std::vector<double>(points * kQuantities),
                              std::vector<double>(points * kQuantities)});
        }
    }

    /// Calls `use` with the first quantity of each inner point: along j, then k, then i.
    template <typename Use>
    void for_points(GridRange is, GridRange js, const Use& use) const {
        const auto planes = static_cast<int>(fronts_.size()) - 1;
        for (int j = js.begin; j < js.end; ++j) {
            for (int k = 1; k < planes; ++k) {
                for (int i = is.begin; i < is.end; ++i) {
                    use(u_.at(Place{i, j, k}));
                }
            }
        }
    }

    const FrontArray<6>& u_;
    const Fronts& fronts_;
    std::vector<Side> sides_;
    Messages messages_;
};

}  // namespace aferir::npb::AFERIR_ISA
