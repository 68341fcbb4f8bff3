#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "common/awaited.hpp"
#include "common/memory.hpp"

namespace aferir::npb {

/// Barrier and small sums for ranks that share memory. Messages would be too slow: one takes as
/// long as several products of a small matrix.
class MeetingPlace {
  public:
    /// Largest number of values in one sum.
    static constexpr std::size_t kMost = 16;

    static std::size_t bytes_for(std::size_t ranks) {
        return sizeof(Gate) + ranks * sizeof(Contribution);
    }

    /// Errors: none; `shared` are bytes_for(ranks), zeroed, in all ranks.
    MeetingPlace(HugeArray<std::byte> shared, std::size_t ranks, std::size_t own, Patience patience)
        : shared_(std::move(shared)), ranks_(ranks), own_(own), patience_(patience) {}

    /// Returns when all ranks have called it; what they wrote before is then visible.
    void wait() const { gate()->wait(static_cast<int>(ranks_), patience_); }

    /// The sums over all ranks of up to kMost values, the same to the last bit in each.
    void sum(std::span<double> values) const {
        Contribution& own = contributions()[own_];
        // Two sets of places are used in turn: a slow rank still reads one while the others write
        // the next.
        const std::size_t turn = own.turn ^= 1;
        for (std::size_t k = 0; k < values.size(); ++k) {
            own.values[turn][k] = values[k];
        }
        wait();
        for (std::size_t k = 0; k < values.size(); ++k) {
            values[k] = 0;
            for (const Contribution& each : std::span(contributions(), ranks_)) {
                values[k] += each.values[turn][k];
            }
        }
    }

  private:
    struct alignas(64) Contribution {
        std::array<std::array<double, kMost>, 2> values;
        std::size_t turn;
    };

    [[nodiscard]] Gate* gate() const { return reinterpret_cast<Gate*>(shared_.data()); }
    [[nodiscard]] Contribution* contributions() const {
        return reinterpret_cast<Contribution*>(shared_.data() + sizeof(Gate));
    }

    HugeArray<std::byte> shared_;
    std::size_t ranks_;
    std::size_t own_;
    Patience patience_;
};

}  // namespace aferir::npb
