#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "account/event.hpp"

namespace aferir::account {

/// Core cycles of all processors while they were not halted, by the hardware's counters.
struct Cycles {
    std::uint64_t user = 0;
    std::uint64_t system = 0;
};

class CycleCounters {
  public:
    /// Counts for all processes, or for the members of the control group whose folder `group` is
    /// open.
    explicit CycleCounters(int group = -1);
    /// Cycles so far; nothing if the processor, or its hypervisor, has no counters.
    [[nodiscard]] std::optional<Cycles> cycles() const;

  private:
    std::vector<Event> user_;
    std::vector<Event> system_;
};

}  // namespace aferir::account
