#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "loadgen/playback.hpp"

namespace aferir::loadgen {

/// Alarms for many clients, each of at most a millisecond late by design: a hashed timing wheel
/// (Varghese and Lauck 1987). An alarm further ahead than one turn of the wheel rings early, and
/// must then be set again.
class Wheel {
  public:
    static constexpr Nanoseconds kSlot = 1'000'000;
    static constexpr std::size_t kSlots = 8192;

    explicit Wheel(Nanoseconds now) : slots_(kSlots), next_(now / kSlot) {}

    /// An alarm in the past rings at the next `advance`.
    void add(std::uint32_t client, Nanoseconds at) {
        std::int64_t slot = (at + kSlot - 1) / kSlot;
        slot = slot < next_ ? next_ : slot;
        const std::int64_t last = horizon() / kSlot;
        slot = slot > last ? last : slot;
        slots_[static_cast<std::size_t>(slot) % kSlots].push_back(client);
        ++count_;
    }

    /// The latest time at which an alarm does not ring early. It lags behind the clock as `advance`
    /// does.
    [[nodiscard]] Nanoseconds horizon() const {
        return (next_ + static_cast<std::int64_t>(kSlots) - 1) * kSlot;
    }

    /// Calls `ring(client)` for every alarm due by `now`; `ring` may add alarms.
    template <typename Ring>
    void advance(Nanoseconds now, Ring&& ring) {
        const std::int64_t end = now / kSlot;
        // After a pause longer than a turn every slot is due, and none twice.
        const auto turns = static_cast<std::int64_t>(kSlots);
        std::int64_t slot = end - next_ >= turns ? end - turns + 1 : next_;
        for (; slot <= end; ++slot) {
            next_ = slot + 1;
            std::vector<std::uint32_t>& due = slots_[static_cast<std::size_t>(slot) % kSlots];
            if (due.empty()) {
                continue;
            }
            ringing_.swap(due);
            count_ -= ringing_.size();
            for (const std::uint32_t client : ringing_) {
                ring(client);
            }
            ringing_.clear();
        }
    }

    /// Time of the slot of the earliest alarm, or the largest number if there is none.
    [[nodiscard]] Nanoseconds next() const {
        if (count_ == 0) {
            return std::numeric_limits<Nanoseconds>::max();
        }
        std::int64_t slot = next_;
        while (slots_[static_cast<std::size_t>(slot) % kSlots].empty()) {
            ++slot;
        }
        return slot * kSlot;
    }

  private:
    std::vector<std::vector<std::uint32_t>> slots_;
    std::vector<std::uint32_t> ringing_;
    std::int64_t next_;
    std::size_t count_ = 0;
};

}  // namespace aferir::loadgen
