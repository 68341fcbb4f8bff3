#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "npb/pseudo_application.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Contiguous range of inner planes of each rank, the same for planes of constant k and of constant
/// j. Ranks are ordered by host, so that neighbouring planes are mostly on one host.
class AdiLayout {
  public:
    AdiLayout(int size, const Ranks& ranks)
        : size_(size), rank_(ranks.id()), shares_(static_cast<std::size_t>(ranks.count())) {
        int position = 0;
        for (const auto& host : ranks.hosts().members) {
            for (const int rank : host) {
                const auto [begin, end] =
                    share_of(static_cast<std::size_t>(size - 2), position++, ranks.count());
                shares_[index(rank)] = {{1 + static_cast<int>(begin), 1 + static_cast<int>(end)},
                                        rank == host.front(),
                                        rank == host.back()};
            }
        }
        const auto& mates = ranks.hosts().mates();
        host_ = {of(mates.front()).begin, of(mates.back()).end};
        for (int step = 1; step < ranks.count(); ++step) {
            const int rank = (rank_ + step) % ranks.count();
            if (std::find(mates.begin(), mates.end(), rank) == mates.end()) {
                distant_.push_back(rank);
            }
        }
    }

    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] GridRange of(int rank) const { return shares_[index(rank)].planes; }
    [[nodiscard]] GridRange own() const { return of(rank_); }
    /// Planes of all ranks of this host together.
    [[nodiscard]] GridRange host() const { return host_; }
    /// Ranks of other hosts, beginning with the next higher one and wrapping around.
    [[nodiscard]] std::span<const int> distant() const { return distant_; }

    /// Planes that a rank provides to the right-hand sides of its host: its own; the host's first
    /// and last ranks also provide the adjacent planes, which belong to other hosts. `boundary`: 0
    /// to include the cube's boundary planes, 1 to leave them out.
    [[nodiscard]] GridRange seen_by(int rank, int boundary) const {
        const auto& share = shares_[index(rank)];
        return {
            share.first ? std::max(share.planes.begin - kRim, boundary) : share.planes.begin,
            share.last ? std::min(share.planes.end + kRim, size_ - boundary) : share.planes.end};
    }
    [[nodiscard]] GridRange seen_by_host(int boundary) const {
        return {std::max(host_.begin - kRim, boundary),
                std::min(host_.end + kRim, size_ - boundary)};
    }

    static constexpr int kRim = 2;

  private:
    struct Share {
        GridRange planes;
        bool first = false;  ///< of its host
        bool last = false;
    };

    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    int size_;
    int rank_;
    std::vector<Share> shares_;
    GridRange host_{};
    std::vector<int> distant_;
};

}  // namespace aferir::npb::AFERIR_ISA
