#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "common/awaited.hpp"
#include "common/memory.hpp"
#include "common/team.hpp"
#include "npb/lu_fronts.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Products of a point's Jacobian block with its change, for the neighbour along one axis.
using LuGift = std::array<double, 5>;

/// Products that one worker leaves for the worker with the adjacent columns; empty where no worker
/// leaves any.
struct Relay {
    struct alignas(64) Line {
        LuGift gift;
    };

    Progress* progress = nullptr;  ///< in fronts swept
    std::span<Line> lines;         ///< [f]: gift of the outermost point of front f - 1; [0] is 0
};

/// Relays of all workers, in memory that they share.
class Relays {
  public:
    /// Number of doubles that the relays of so many workers need.
    static std::size_t values(const Fronts& fronts, int workers) {
        return static_cast<std::size_t>(workers) * (1 + lines_of(fronts)) * kLine;
    }

    /// `memory`: zeroed.
    Relays(const Fronts& fronts, HugeArray<double> memory)
        : lines_(lines_of(fronts)), memory_(std::move(memory)) {}

    [[nodiscard]] Relay of(int worker) const {
        double* const first =
            memory_.data() + static_cast<std::size_t>(worker) * (1 + lines_) * kLine;
        return {reinterpret_cast<Progress*>(first),
                {reinterpret_cast<Relay::Line*>(first + kLine), lines_}};
    }

  private:
    static constexpr std::size_t kLine = sizeof(Relay::Line) / sizeof(double);
    static_assert(sizeof(Progress) == sizeof(Relay::Line));

    static std::size_t lines_of(const Fronts& fronts) {
        return static_cast<std::size_t>(fronts.end() - fronts.first() + 1);
    }

    std::size_t lines_;
    HugeArray<double> memory_;
};

/// Synchronises the sweeps of a worker with those of the workers that have the adjacent columns.
/// `Side` is +1 in the lower sweep, which comes from the columns before, and -1 in the upper one;
/// fronts are counted from the start of the sweep.
class RelayLinks {
  public:
    /// `worker` of `workers`.
    RelayLinks(const Fronts& fronts, const Relays& relays, int worker, int workers,
               Patience patience)
        : own_(relays.of(worker)),
          before_(worker > 0 ? relays.of(worker - 1) : Relay{}),
          after_(worker + 1 < workers ? relays.of(worker + 1) : Relay{}),
          patience_(patience),
          chunk_(patience.spins > 0 ? kChunk : fronts.size()),
          total_(static_cast<int>(fronts.end() - fronts.first())) {}

    /// Number of fronts swept between two waits.
    [[nodiscard]] std::ptrdiff_t chunk() const { return chunk_; }

    template <int Side>
    void start() {}

    /// Returns when everything that the fronts up to `end` need is there.
    template <int Side>
    void await(std::ptrdiff_t end) const {
        if (auto* const from = source<Side>().progress; from != nullptr) {
            from->wait(swept_ + static_cast<int>(end), patience_);
        }
    }

    /// Announces that the fronts up to `end` have been swept.
    template <int Side>
    void passed(std::ptrdiff_t end) {
        own_.progress->reach(swept_ + static_cast<int>(end));
        swept_ += end == total_ ? total_ : 0;
    }

    /// Products for our outermost point of a front from the adjacent worker's point, or null.
    template <int Side>
    [[nodiscard]] const LuGift* incoming(std::ptrdiff_t front) const {
        const auto& from = source<Side>();
        return from.lines.empty() ? nullptr : &from.lines[static_cast<std::size_t>(front)].gift;
    }

    /// Where to store the products of this worker's last point of a front, for the next worker in
    /// the sweep; never null.
    template <int Side>
    [[nodiscard]] LuGift* outgoing(std::ptrdiff_t front) {
        return &own_.lines[static_cast<std::size_t>(front) + 1].gift;
    }

    /// Does nothing: no worker has points beside ours along i.
    template <int Side, int W>
    void receive_along_i(std::ptrdiff_t /*front*/, double* /*gifts*/) const {}
    template <int Side, int W>
    void send_along_i(std::ptrdiff_t /*front*/, const double* /*gifts*/) const {}

  private:
    static constexpr std::ptrdiff_t kChunk = 8;

    template <int Side>
    [[nodiscard]] const Relay& source() const {
        return Side > 0 ? before_ : after_;
    }

    Relay own_;
    Relay before_;
    Relay after_;
    Patience patience_;
    std::ptrdiff_t chunk_;
    int total_;
    int swept_ = 0;
};

}  // namespace aferir::npb::AFERIR_ISA
