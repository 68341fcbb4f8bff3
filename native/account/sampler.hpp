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

/// Seconds of all processors in each mode, as looks tell it: each stands for the time since the
/// last. Some kernels take no look at a processor that is idle.
struct Modes {
    double user_s = 0;
    double system_s = 0;
    /// Within a guest that runs on a processor of this host.
    double guest_s = 0;
    double idle_s = 0;
    std::uint64_t looks = 0;

    /// Looks that were counted as one second each, and stand for so many.
    void add(const Modes& counted, double seconds);
};

struct Samples {
    Modes all;
    /// Of the processes and control groups that were asked for.
    Modes target;
    std::uint64_t lost = 0;
};

/// Whose looks are counted apart.
struct Target {
    std::set<std::uint32_t> processes;
    /// Ids of control groups of version 2: the inode numbers of their folders.
    std::set<std::uint64_t> groups;

    [[nodiscard]] bool empty() const { return processes.empty() && groups.empty(); }
    [[nodiscard]] bool has(std::uint32_t process, std::uint64_t group) const {
        return processes.contains(process) || groups.contains(group);
    }
};

/// Adds what stands in `records`, whole records of a ring of perf_event_open(2) whose samples hold
/// the process and the control group; a second for each look.
void add_records(std::span<const std::byte> records, const Target& target, Samples& samples);

/// A processor looked at many times a second, at moments that keep step with nothing: neither with
/// the kernel's tick, which programs that sleep are woken by, nor with a program's own period.
class Sampler {
  public:
    Sampler(int cpu, double hertz);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;
    Sampler(Sampler&& other) noexcept;
    Sampler& operator=(Sampler&&) = delete;

    [[nodiscard]] bool open() const { return ring_ != nullptr; }
    /// Bytes of records so far.
    [[nodiscard]] std::uint64_t written() const;
    /// Takes what has come since the last time. Seconds of it that were the target's; without a
    /// target, everybody's.
    double drain(const Target& target, Samples& samples);
    /// About so many looks a second from now on, the time between them drawn anew.
    void set_rate(double hertz, std::mt19937_64& draw);

  private:
    Event event_;
    void* ring_ = nullptr;
    /// The kernel writes into its records the one that the event was opened with, for ever.
    double period_s_;
    std::vector<std::byte> pending_;
};

/// Seconds that a look takes from the program it interrupts: how much longer a window of known
/// cycles takes with one look in it than with none. Under a hypervisor it is mostly setting the
/// timer. Nothing where no look came.
std::optional<double> cost_of_look(int cpu);

/// Looks a second at each processor, `looks_per_s` at all of them. Those that were `used` longer
/// get more: where the target is not, there is nothing of it to be seen.
std::vector<double> rates(std::span<const double> used, double looks_per_s);

}  // namespace aferir::account
