#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "account/event.hpp"

namespace aferir::account {

/// Requests issued to block devices, counted by the kernel's tracepoint block:block_rq_issue.
struct BlockCounts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    /// Discards, flushes and all other requests.
    std::uint64_t others = 0;
};

class Blocks {
  public:
    /// Counts the requests to `device` (a number as in st_rdev), or to all devices without it.
    explicit Blocks(std::optional<std::uint64_t> device);
    /// Counts so far; nothing if the tracepoint is not available.
    [[nodiscard]] std::optional<BlockCounts> counts() const;

  private:
    std::vector<Event> all_;
    std::vector<Event> reads_;
    std::vector<Event> writes_;
};

/// Filter of block events (Documentation/trace/events.rst, section 5.1): those of `device` that
/// meet `condition`; either may be omitted.
std::string block_filter(std::optional<std::uint64_t> device, std::string_view condition);

}  // namespace aferir::account
