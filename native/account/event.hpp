#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/descriptor.hpp"

namespace aferir::account {

/// A performance event of the kernel (perf_event_open(2)). It counts from its construction on.
class Event {
  public:
    Event() = default;
    /// Counts all processes on `cpu`; with `group`, a descriptor of a control group's folder, its
    /// members only. If the kernel refuses, `open` is false and errno has the reason.
    Event(const perf_event_attr& attributes, int cpu, int group = -1);

    [[nodiscard]] bool open() const { return descriptor_.open(); }
    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// Count so far, scaled up if the event had to share a hardware counter with others.
    [[nodiscard]] std::optional<std::uint64_t> count() const;

  private:
    Descriptor descriptor_;
};

/// Attributes of an event of `type` and `config` that is counted, not sampled.
perf_event_attr counting(std::uint32_t type, std::uint64_t config);

/// Numbers in a list of the kernel's such as "0,2-5,7\n" (cpuset(7), list format); empty if it is
/// not one.
std::vector<int> numbers_in(std::string_view list);

/// Numbers of the processors that are online; they need not be consecutive.
std::vector<int> processors();

}  // namespace aferir::account
