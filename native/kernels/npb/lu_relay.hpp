#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "npb/lu_fronts.hpp"
#include "npb/team.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The products of one point that are meant for its neighbour along one axis.
using LuGift = std::array<double, 5>;

/// What a thread leaves to the one that has the columns beside its own.
struct Relay {
    struct alignas(64) Line {
        LuGift gift{};
    };

    explicit Relay(const Fronts& fronts)
        : lines(static_cast<std::size_t>(fronts.end() - fronts.first() + 1)) {}

    std::vector<Line> lines;  ///< of the outermost point of the front swept before; the first is 0
    Progress progress;        ///< in fronts swept
};

/// How the sweeps of a thread follow those of the threads with the columns beside its own. `Side`
/// is +1 in the lower sweep, which comes from the columns before, and -1 in the upper one; fronts
/// are counted from the begin of the sweep.
class RelayLinks {
  public:
    /// `before` and `after` may be null.
    RelayLinks(const Fronts& fronts, Relay& own, Relay* before, Relay* after, int spins)
        : own_(own),
          before_(before),
          after_(after),
          spins_(spins),
          chunk_(spins > 0 ? kChunk : fronts.size()),
          total_(static_cast<int>(fronts.end() - fronts.first())) {}

    /// Fronts to sweep from one wait to the next.
    [[nodiscard]] std::ptrdiff_t chunk() const { return chunk_; }

    template <int Side>
    void start() {}

    /// Returns when there is all that the fronts up to `end` need.
    template <int Side>
    void await(std::ptrdiff_t end) const {
        if (const auto* const from = source<Side>(); from != nullptr) {
            from->progress.wait(swept_ + static_cast<int>(end), spins_);
        }
    }

    /// The fronts up to `end` have been swept.
    template <int Side>
    void passed(std::ptrdiff_t end) {
        own_.progress.reach(swept_ + static_cast<int>(end));
        swept_ += end == total_ ? total_ : 0;
    }

    /// What the point beside our outermost one in a front gives to it, or null.
    template <int Side>
    [[nodiscard]] const LuGift* incoming(std::ptrdiff_t front) const {
        const auto* const from = source<Side>();
        return from == nullptr ? nullptr : &from->lines[static_cast<std::size_t>(front)].gift;
    }

    /// Where to leave what our outermost point at the other end gives, or null.
    template <int Side>
    [[nodiscard]] LuGift* outgoing(std::ptrdiff_t front) {
        return &own_.lines[static_cast<std::size_t>(front) + 1].gift;
    }

    /// Nothing: no thread has points beside ours along i.
    template <int Side, int W>
    void receive_along_i(std::ptrdiff_t /*front*/, double* /*gifts*/) const {}
    template <int Side, int W>
    void send_along_i(std::ptrdiff_t /*front*/, const double* /*gifts*/) const {}

  private:
    static constexpr std::ptrdiff_t kChunk = 8;

    template <int Side>
    [[nodiscard]] const Relay* source() const {
        return Side > 0 ? before_ : after_;
    }

    Relay& own_;
    Relay* before_;
    Relay* after_;
    int spins_;
    std::ptrdiff_t chunk_;
    int total_;
    int swept_ = 0;
};

}  // namespace aferir::npb::AFERIR_ISA
