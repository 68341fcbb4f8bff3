#include "account/counters.hpp"

namespace aferir::account {
namespace {

std::vector<Event> open_all(bool user, int group) {
    auto attributes = counting(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    attributes.exclude_user = user ? 0 : 1;
    attributes.exclude_kernel = user ? 1 : 0;
    attributes.exclude_hv = 1;
    std::vector<Event> events;
    for (const int cpu : processors()) {
        Event event(attributes, cpu, group);
        if (!event.open()) {
            return {};
        }
        events.push_back(std::move(event));
    }
    return events;
}

std::uint64_t total(const std::vector<Event>& events) {
    std::uint64_t cycles = 0;
    for (const auto& event : events) {
        cycles += event.count().value_or(0);
    }
    return cycles;
}

}  // namespace

CycleCounters::CycleCounters(int group)
    : user_(open_all(true, group)), system_(open_all(false, group)) {}

std::optional<Cycles> CycleCounters::cycles() const {
    if (user_.empty() || system_.empty()) {
        return std::nullopt;
    }
    return Cycles{total(user_), total(system_)};
}

}  // namespace aferir::account
