#include "account/sampler.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "core_frequency/frequency.hpp"

namespace aferir::account {
namespace {

constexpr std::size_t kPages = 16;  // seconds of samples: the reader may wait for a processor

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

struct Sample {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::uint64_t group = 0;
};

template <typename Value>
Value read_value(std::span<const std::byte> bytes) {
    Value value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

void add_sample(std::uint16_t misc, const Sample& sample, const Target& target, Samples& samples) {
    const auto count = [&](double Modes::* mode) {
        samples.all.*mode += 1;
        ++samples.all.looks;
        if (target.has(sample.process, sample.group)) {
            samples.target.*mode += 1;
            ++samples.target.looks;
        }
    };
    const auto mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER) {
        count(&Modes::guest_s);
    } else if (mode == PERF_RECORD_MISC_USER) {
        count(&Modes::user_s);
    } else if (sample.process == 0 && sample.thread == 0) {
        count(&Modes::idle_s);
    } else {
        count(&Modes::system_s);
    }
}

double busy(const Modes& modes) { return modes.user_s + modes.system_s + modes.guest_s; }

}  // namespace

void Modes::add(const Modes& counted, double seconds) {
    user_s += counted.user_s * seconds;
    system_s += counted.system_s * seconds;
    guest_s += counted.guest_s * seconds;
    idle_s += counted.idle_s * seconds;
    looks += counted.looks;
}

void add_records(std::span<const std::byte> records, const Target& target, Samples& samples) {
    while (records.size() >= sizeof(perf_event_header)) {
        const auto header = read_value<perf_event_header>(records);
        if (header.size < sizeof header || header.size > records.size()) {
            return;
        }
        const auto body = records.subspan(sizeof header, header.size - sizeof header);
        if (header.type == PERF_RECORD_SAMPLE && body.size() >= sizeof(Sample)) {
            add_sample(header.misc, read_value<Sample>(body), target, samples);
        } else if (header.type == PERF_RECORD_LOST && body.size() >= 2 * sizeof(std::uint64_t)) {
            samples.lost += read_value<std::uint64_t>(body.subspan(sizeof(std::uint64_t)));
        }
        records = records.subspan(header.size);
    }
}

Sampler::Sampler(int cpu, double hertz) : period_s_(1 / hertz) {
    auto attributes = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    attributes.sample_period = static_cast<std::uint64_t>(1e9 * period_s_);
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CGROUP;
    event_ = Event(attributes, cpu);
    if (!event_.open()) {
        return;
    }
    void* const mapped = mmap(nullptr, (kPages + 1) * page_size(), PROT_READ | PROT_WRITE,
                              MAP_SHARED, event_.number(), 0);
    ring_ = mapped == MAP_FAILED ? nullptr : mapped;
}

Sampler::Sampler(Sampler&& other) noexcept
    : event_(std::move(other.event_)),
      ring_(std::exchange(other.ring_, nullptr)),
      period_s_(other.period_s_) {}

Sampler::~Sampler() {
    if (ring_ != nullptr) {
        munmap(ring_, (kPages + 1) * page_size());
    }
}

std::uint64_t Sampler::written() const {
    auto& page = *static_cast<perf_event_mmap_page*>(ring_);
    return std::atomic_ref(page.data_head).load(std::memory_order_acquire);
}

double Sampler::drain(const Target& target, Samples& samples) {
    if (ring_ == nullptr) {
        return 0;
    }
    auto& page = *static_cast<perf_event_mmap_page*>(ring_);
    const auto size = kPages * page_size();
    const std::span ring(static_cast<const std::byte*>(ring_) + page_size(), size);
    const auto head = written();
    const auto tail = page.data_tail;
    pending_.clear();
    for (auto at = tail; at < head;) {
        const auto place = static_cast<std::size_t>(at % size);
        const auto piece = std::min<std::size_t>(static_cast<std::size_t>(head - at), size - place);
        const auto part = ring.subspan(place, piece);
        pending_.insert(pending_.end(), part.begin(), part.end());
        at += piece;
    }
    std::atomic_ref(page.data_tail).store(head, std::memory_order_release);
    Samples found;
    add_records(pending_, target, found);
    samples.lost += found.lost;
    samples.all.add(found.all, period_s_);
    samples.target.add(found.target, period_s_);
    return busy(target.empty() ? found.all : found.target) * period_s_;
}

void Sampler::set_rate(double hertz, std::mt19937_64& draw) {
    std::uniform_real_distribution<double> around(0.75, 1.25);
    period_s_ = around(draw) / hertz;
    auto period = static_cast<std::uint64_t>(1e9 * period_s_);
    ioctl(event_.number(), PERF_EVENT_IOC_PERIOD, &period);
}

std::optional<double> cost_of_look(int cpu) {
    constexpr int kWindows = 600;
    constexpr double kHertz = 4000;  // about one sample in every fifth window
    const Sampler sampler(cpu, kHertz);
    cpu_set_t before;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(cpu), &here);
    if (!sampler.open() || sched_getaffinity(0, sizeof before, &before) != 0 ||
        sched_setaffinity(0, sizeof here, &here) != 0) {
        return std::nullopt;
    }
    std::vector<double> without;
    std::vector<double> with;
    for (int i = 0; i < kWindows; ++i) {
        const auto earlier = sampler.written();
        const double seconds = time_window(Chain::multiply);
        (sampler.written() == earlier ? without : with).push_back(seconds);
    }
    sched_setaffinity(0, sizeof before, &before);
    if (without.empty() || with.empty()) {
        return std::nullopt;
    }
    const auto median = [](std::vector<double>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    return std::max(0.0, median(with) - median(without));
}

std::vector<double> rates(std::span<const double> used, double looks_per_s) {
    // Smallest rate of a processor relative to the busiest one: an idle processor is sampled as
    // well, so that it is noticed when the target begins to use it.
    constexpr double kLeast = 0.1;
    const double most = *std::max_element(used.begin(), used.end());
    std::vector<double> found;
    for (const double seconds : used) {
        found.push_back(most > 0 ? std::max(kLeast, seconds / most) : 1);
    }
    const double sum = std::accumulate(found.begin(), found.end(), 0.0);
    for (double& rate : found) {
        rate *= looks_per_s / sum;
    }
    return found;
}

}  // namespace aferir::account
