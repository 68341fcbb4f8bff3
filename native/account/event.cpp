#include "account/event.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <numeric>
#include <string>

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

std::vector<int> numbers_in(std::string_view list) {
    std::vector<int> numbers;
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at != end && *at != '\n') {
        int first = 0;
        auto read = std::from_chars(at, end, first);
        int last = first;
        if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-') {
            read = std::from_chars(read.ptr + 1, end, last);
        }
        if (read.ec != std::errc{} || first < 0 || last < first) {
            return {};
        }
        for (int number = first; number <= last; ++number) {
            numbers.push_back(number);
        }
        at = read.ptr != end && *read.ptr == ',' ? read.ptr + 1 : read.ptr;
        if (at == read.ptr && at != end && *at != '\n') {
            return {};
        }
    }
    return numbers;
}

std::vector<int> processors() {
    std::string list;
    std::getline(std::ifstream("/sys/devices/system/cpu/online"), list);
    auto numbers = numbers_in(list);
    if (numbers.empty()) {  // no sysfs here
        numbers.resize(static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)));
        std::iota(numbers.begin(), numbers.end(), 0);
    }
    return numbers;
}

}  // namespace aferir::account
