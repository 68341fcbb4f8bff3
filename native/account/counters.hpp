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
    /// Of all processes, or of the members of a control group, whose folder `group` is open.
    explicit CycleCounters(int group = -1);
    /// Nothing where the processor, or its hypervisor, shows no counters.
    [[nodiscard]] std::optional<Cycles> cycles() const;

  private:
    std::vector<Event> user_;
    std::vector<Event> system_;
};

}  // namespace aferir::account
