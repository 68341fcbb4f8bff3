#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/descriptor.hpp"

namespace aferir::account {

/// A performance event of the kernel (perf_event_open(2)), closed when it goes. It counts from when
/// it is opened.
class Event {
  public:
    Event() = default;
    /// All processes on `cpu`; with `group`, a descriptor of a control group's folder, its members
    /// alone. Where the kernel refuses, `open` is false and errno says why.
    Event(const perf_event_attr& attributes, int cpu, int group = -1);

    [[nodiscard]] bool open() const { return descriptor_.open(); }
    [[nodiscard]] int number() const { return descriptor_.number(); }
    /// The count so far, scaled up where the event had to share a counter with others.
    [[nodiscard]] std::optional<std::uint64_t> count() const;

  private:
    Descriptor descriptor_;
};

/// Attributes of an event of `type` and `config` that counts.
perf_event_attr counting(std::uint32_t type, std::uint64_t config);

/// The numbers in a list of the kernel's such as "0,2-5,7\n" (cpuset(7), list format); empty where
/// it is none.
std::vector<int> numbers_in(std::string_view list);

/// Processors that are online, by number: one that was taken offline leaves a gap.
std::vector<int> processors();

}  // namespace aferir::account
