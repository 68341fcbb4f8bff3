#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "account/event.hpp"

namespace aferir::account {

/// Seconds that processors spent in each mode, by sampling: each sample stands for the time since
/// the one before. Some kernels take no sample on an idle processor.
struct Modes {
    double user_s = 0;
    double system_s = 0;
    /// Time in a guest that runs on a processor of this host.
    double guest_s = 0;
    double idle_s = 0;
    std::uint64_t looks = 0;

    /// Adds modes that were counted as one second per sample; each sample stands for `seconds`.
    void add(const Modes& counted, double seconds);
};

struct Samples {
    Modes all;
    /// Time of the processes and control groups that were requested.
    Modes target;
    std::uint64_t lost = 0;
};

/// Processes and control groups whose samples are counted separately.
struct Target {
    std::set<std::uint32_t> processes;
    /// Ids of control groups of version 2: the inode numbers of their folders.
    std::set<std::uint64_t> groups;

    [[nodiscard]] bool empty() const { return processes.empty() && groups.empty(); }
    [[nodiscard]] bool has(std::uint32_t process, std::uint64_t group) const {
        return processes.contains(process) || groups.contains(group);
    }
};

/// Adds `records`: whole records of a ring buffer of perf_event_open(2), whose samples contain the
/// process and the control group. Each sample counts as one second.
void add_records(std::span<const std::byte> records, const Target& target, Samples& samples);

/// Samples one processor many times a second, at random times, so as not to keep step with the
/// kernel's tick, which wakes sleeping programs, or with a program's own period.
class Sampler {
  public:
    Sampler(int cpu, double hertz);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;
    Sampler(Sampler&& other) noexcept;
    Sampler& operator=(Sampler&&) = delete;

    [[nodiscard]] bool open() const { return ring_ != nullptr; }
    /// Bytes of records written so far.
    [[nodiscard]] std::uint64_t written() const;
    /// Adds the samples since the last call. Returns the seconds that were the target's; without a
    /// target, all seconds.
    double drain(const Target& target, Samples& samples);
    /// Sets a rate of about `hertz` samples a second, with newly drawn intervals.
    void set_rate(double hertz, std::mt19937_64& draw);

  private:
    Event event_;
    void* ring_ = nullptr;
    /// Period that the event was opened with, which the kernel writes into every record, even if
    /// the rate has changed.
    double period_s_;
    std::vector<std::byte> pending_;
};

/// Seconds that one sample takes from the program that it interrupts: by how much longer a window
/// of known cycles takes with one sample in it. Under a hypervisor most of it is setting the timer.
/// Nothing if no sample was taken.
std::optional<double> cost_of_look(int cpu);

/// Samples a second for each processor, `looks_per_s` in total. Processors that were `used` longer
/// get more: only where the target runs can it be sampled.
std::vector<double> rates(std::span<const double> used, double looks_per_s);

}  // namespace aferir::account
