#include "account/event.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace aferir::account {

Event::Event(const perf_event_attr& attributes, int cpu, int group) {
    const int pid = group >= 0 ? group : -1;
    const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (group >= 0 ? PERF_FLAG_PID_CGROUP : 0UL);
    descriptor_ = Descriptor(
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, flags)));
}

std::optional<std::uint64_t> Event::count() const {
    std::array<std::uint64_t, 3> values{};  // count, time enabled, time running
    if (!open() || read(number(), values.data(), sizeof values) != sizeof values) {
        return std::nullopt;
    }
    const auto [counted, enabled, running] = values;
    if (running == 0 || running == enabled) {
        return counted;
    }
    return static_cast<std::uint64_t>(static_cast<double>(counted) * static_cast<double>(enabled) /
                                      static_cast<double>(running));
}

perf_event_attr counting(std::uint32_t type, std::uint64_t config) {
    perf_event_attr attributes{};
    attributes.type = type;
    attributes.size = sizeof attributes;
    attributes.config = config;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attributes;
}

int processors() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace aferir::account
