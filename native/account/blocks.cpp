#include "account/blocks.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <numeric>

namespace aferir::account {
namespace {

constexpr int kMinorBits = 20;  // of a device number inside the kernel (include/linux/kdev_t.h)
// Filters by the letters that describe a request: F first if a flush goes before it, then its
// operation (blk_fill_rwbs in kernel/trace/blktrace.c).
constexpr std::string_view kRead = R"(rwbs ~ "R*")";
constexpr std::string_view kWrite = R"((rwbs ~ "W*" || rwbs ~ "FW*"))";

std::optional<std::uint64_t> tracepoint() {
    std::ifstream file("/sys/kernel/tracing/events/block/block_rq_issue/id");
    std::uint64_t id = 0;
    return file >> id ? std::optional(id) : std::nullopt;
}

/// Reads tracefs where it is mounted; otherwise mounts it in a mount namespace of our own, which
/// ends with this process.
std::optional<std::uint64_t> find_tracepoint() {
    if (auto id = tracepoint()) {
        return id;
    }
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/sys/kernel/tracing", "tracefs", 0, nullptr) != 0) {
        return std::nullopt;
    }
    return tracepoint();
}

std::vector<Event> open_all(std::uint64_t id, const std::string& filter) {
    std::vector<Event> events;
    for (const int cpu : processors()) {
        Event event(counting(PERF_TYPE_TRACEPOINT, id), cpu);
        if (!event.open() || (!filter.empty() && ioctl(event.number(), PERF_EVENT_IOC_SET_FILTER,
                                                       filter.c_str()) != 0)) {
            return {};
        }
        events.push_back(std::move(event));
    }
    return events;
}

std::optional<std::uint64_t> sum(const std::vector<Event>& events) {
    if (events.empty()) {
        return std::nullopt;
    }
    return std::accumulate(
        events.begin(), events.end(), std::uint64_t{0},
        [](std::uint64_t total, const Event& event) { return total + event.count().value_or(0); });
}

}  // namespace

std::string block_filter(std::optional<std::uint64_t> device, std::string_view condition) {
    std::string filter;
    if (device) {
        const auto number = (std::uint64_t{major(*device)} << kMinorBits) | minor(*device);
        filter = "dev == " + std::to_string(number);
    }
    if (filter.empty() || condition.empty()) {
        return filter.append(condition);
    }
    return filter.append(" && ").append(condition);
}

Blocks::Blocks(std::optional<std::uint64_t> device) {
    if (const auto id = find_tracepoint()) {
        all_ = open_all(*id, block_filter(device, ""));
        reads_ = open_all(*id, block_filter(device, kRead));
        writes_ = open_all(*id, block_filter(device, kWrite));
    }
}

std::optional<BlockCounts> Blocks::counts() const {
    const auto all = sum(all_);
    const auto reads = sum(reads_);
    const auto writes = sum(writes_);
    if (!all || !reads || !writes) {
        return std::nullopt;
    }
    return BlockCounts{*reads, *writes, *all - std::min(*all, *reads + *writes)};
}

}  // namespace aferir::account
