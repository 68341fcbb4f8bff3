#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "account/event.hpp"

namespace aferir::account {

/// Requests that were handed to block devices, each counted by the kernel's tracepoint
/// block:block_rq_issue.
struct BlockCounts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    /// Discards, flushes and what else there is.
    std::uint64_t others = 0;
};

class Blocks {
  public:
    /// `device` is the number of a block device as st_rdev has it; without it, all devices.
    explicit Blocks(std::optional<std::uint64_t> device);
    /// Nothing where the tracepoint cannot be had.
    [[nodiscard]] std::optional<BlockCounts> counts() const;

  private:
    std::vector<Event> all_;
    std::vector<Event> reads_;
    std::vector<Event> writes_;
};

/// A filter of block events (Documentation/trace/events.rst, 5.1): those of the device, if one is
/// given, that `condition` holds for, if one is given.
std::string block_filter(std::optional<std::uint64_t> device, std::string_view condition);

}  // namespace aferir::account
