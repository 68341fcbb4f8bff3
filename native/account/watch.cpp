#include "account/watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>

#include "account/blocks.hpp"
#include "account/counters.hpp"
#include "account/sampler.hpp"
#include "common/arguments.hpp"
#include "common/descriptor.hpp"
#include "common/json.hpp"
#include "common/program.hpp"
#include "core_frequency/frequency.hpp"

namespace aferir::account {
namespace {

constexpr std::string_view kProgram = "io-account";
constexpr std::string_view kHelp =
    "usage: io-account [--process N] [--group FOLDER] [--device FILE] [--budget N]\n"
    "                  [--look-ms N]\n"
    "Accounts for what the processors do until standard input ends, then prints a line of JSON.\n"
    "Before, it prints {\"ready\":true} once everything is counted. Takes root.\n"
    "  --process  number of a process whose modes are counted apart\n"
    "  --group    folder of a control group of version 2, with those below it, counted apart\n"
    "  --device   block device whose requests are counted (default: all)\n"
    "  --budget   share of one processor that looks at what the processors do may take together,\n"
    "             in parts of ten thousand (default: 50; 0: no looks)\n"
    "  --look-ms  about so many milliseconds between looks at the frequency of a core that\n"
    "             is used (by the process or group) (default: 200; 0: none)\n"
    "exit code: 0 accounted, 2 wrong command line";
constexpr int kWindows = 4;

double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

/// CPU time of this thread, interruptions included.
double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Opens a folder; not open if `path` is empty.
Descriptor open_folder(std::string_view path) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    return Descriptor(path.empty() ? -1 : open(std::string(path).c_str(), kFlags));
}

void add_group(const std::filesystem::path& folder, Target& target) {
    struct stat status{};
    if (stat(folder.c_str(), &status) == 0) {
        target.groups.insert(status.st_ino);
    }
}

/// Adds the groups below `folder` as well, which come and go while a program runs.
void add_groups(std::string_view folder, Target& target) {
    if (folder.empty()) {
        return;
    }
    add_group(folder, target);
    std::error_code none;
    for (std::filesystem::recursive_directory_iterator at(folder, none), end; at != end && !none;
         at.increment(none)) {
        if (at->is_directory(none)) {
            add_group(at->path(), target);
        }
    }
}

std::optional<std::uint64_t> device_number(std::optional<std::string_view> path) {
    if (!path) {
        return std::nullopt;
    }
    struct stat status{};
    if (stat(std::string(*path).c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) {
        throw UsageError("--device " + std::string(*path) + " is no block device");
    }
    return status.st_rdev;
}

/// Frequency of the cores as a program sees it: its own cycles per second of its CPU time, minus
/// interruptions. The fastest of a few windows would give the core's own frequency, which is 3 to 4
/// % higher under a hypervisor.
class Frequency {
  public:
    void look(int cpu) {
        if (!move_to(cpu)) {
            return;
        }
        const double before = thread_seconds();
        for (int i = 0; i < kWindows; ++i) {
            run_chain(Chain::multiply);
        }
        const double seconds = thread_seconds() - before;
        const double hertz = kWindows * window_cycles() / seconds;
        spent_ += seconds;
        ++looks_;
        least_ = looks_ == 1 ? hertz : std::min(least_, hertz);
        most_ = std::max(most_, hertz);
    }

    [[nodiscard]] std::string json() const {
        return JsonObject()
            .integer("looks", looks_)
            .number("mean_hz", spent_ > 0 ? looks_ * kWindows * window_cycles() / spent_ : 0)
            .number("least_hz", least_)
            .number("most_hz", most_)
            .str();
    }

  private:
    bool move_to(int cpu) {
        if (cpu != cpu_) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(static_cast<std::size_t>(cpu), &set);
            cpu_ = sched_setaffinity(0, sizeof set, &set) == 0 ? cpu : -1;
        }
        return cpu_ == cpu;
    }

    int cpu_ = -1;
    int looks_ = 0;
    double spent_ = 0;
    double least_ = 0;
    double most_ = 0;
};

std::string modes_json(const Modes& modes) {
    return JsonObject()
        .number("user_s", modes.user_s)
        .number("system_s", modes.system_s)
        .number("guest_s", modes.guest_s)
        .number("idle_s", modes.idle_s)
        .integer("looks", modes.looks)
        .str();
}

std::string block_json(const std::optional<BlockCounts>& counts) {
    if (!counts) {
        return "null";
    }
    return JsonObject()
        .integer("reads", counts->reads)
        .integer("writes", counts->writes)
        .integer("others", counts->others)
        .str();
}

std::string cycles_json(const std::optional<Cycles>& cycles) {
    if (!cycles) {
        return "null";
    }
    return JsonObject().integer("user", cycles->user).integer("system", cycles->system).str();
}

double own_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Wishes {
    std::uint32_t process = 0;
    std::string group;
    std::optional<std::uint64_t> device;
    double budget = 0;
    int look_ms = 0;
};

Wishes read_wishes(const Arguments& arguments) {
    constexpr long long kMostProcess = 1LL << 30;
    return {
        .process = static_cast<std::uint32_t>(arguments.integer("--process", 0, 0, kMostProcess)),
        .group = std::string(arguments.value("--group").value_or("")),
        .device = device_number(arguments.value("--device")),
        .budget = 1e-4 * static_cast<double>(arguments.integer("--budget", 50, 0, 10'000)),
        .look_ms = static_cast<int>(arguments.integer("--look-ms", 200, 0, 10'000)),
    };
}

bool input_ended(int milliseconds) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, milliseconds) <= 0) {
        return false;
    }
    std::array<char, 256> text{};
    return read(STDIN_FILENO, text.data(), text.size()) <= 0;
}

/// Samples all processors as often as the CPU budget permits.
class Looks {
  public:
    explicit Looks(double budget) {
        constexpr double kLeast = 50;  // of each processor a second
        constexpr double kMost = 4000;
        const auto cost = budget > 0 ? cost_of_look(sched_getcpu()) : std::nullopt;
        if (!cost) {
            return;
        }
        cost_s_ = *cost;
        const auto online = processors();
        const auto count = static_cast<double>(online.size());
        constexpr double kLeastCost = 1e-6;  // least cost in s: no known machine is faster
        per_s_ = std::clamp(budget / std::max(cost_s_, kLeastCost), kLeast * count, kMost * count);
        for (const int cpu : online) {
            samplers_.emplace_back(cpu, per_s_ / count);
        }
        if (!std::all_of(samplers_.begin(), samplers_.end(),
                         [](auto& one) { return one.open(); })) {
            samplers_.clear();
        }
    }

    [[nodiscard]] bool open() const { return !samplers_.empty(); }
    [[nodiscard]] double cost_s() const { return cost_s_; }

    /// CPU seconds of the target on each processor since the last call; without a target, those of
    /// all programs.
    std::vector<double> drain(const Target& target, Samples& samples, std::mt19937_64& draw) {
        std::vector<double> used;
        used.reserve(samplers_.size());
        for (auto& sampler : samplers_) {
            used.push_back(sampler.drain(target, samples));
        }
        if (!used.empty()) {
            const auto chosen = rates(used, per_s_);
            for (std::size_t i = 0; i < samplers_.size(); ++i) {
                samplers_[i].set_rate(chosen[i], draw);
            }
        }
        return used;
    }

  private:
    std::vector<Sampler> samplers_;
    double per_s_ = 0;
    double cost_s_ = 0;
};

/// Difference of two counts; nothing if either is missing.
std::optional<BlockCounts> between(const std::optional<BlockCounts>& before,
                                   const std::optional<BlockCounts>& after) {
    if (!before || !after) {
        return std::nullopt;
    }
    return BlockCounts{after->reads - before->reads, after->writes - before->writes,
                       after->others - before->others};
}

std::optional<Cycles> between(const std::optional<Cycles>& before,
                              const std::optional<Cycles>& after) {
    if (!before || !after) {
        return std::nullopt;
    }
    return Cycles{after->user - before->user, after->system - before->system};
}

std::string account_json(double seconds, double own_before, const Samples& samples,
                         const Looks& looks, const Frequency& frequency,
                         const std::optional<Cycles>& cycles,
                         const std::optional<BlockCounts>& blocks) {
    return JsonObject()
        .text("program", kProgram)
        .boolean("verified", true)
        .number("duration_s", seconds)
        .integer("cpus", processors().size())
        .raw("all", looks.open() ? modes_json(samples.all) : "null")
        .raw("target", looks.open() ? modes_json(samples.target) : "null")
        .integer("lost", samples.lost)
        .number("look_cost_s", looks.cost_s())
        .raw("frequency", frequency.json())
        .raw("cycles", cycles_json(cycles))
        .raw("block", block_json(blocks))
        .number("own_cpu_s", own_seconds() - own_before)
        .str();
}

/// Draws a processor with a probability in proportion to the target's time on it, so that the mean
/// of all measurements is the target's; nothing if it did not run.
std::optional<int> drawn_by(const std::vector<double>& spent, std::mt19937_64& draw) {
    if (std::all_of(spent.begin(), spent.end(), [](double seconds) { return seconds <= 0; })) {
        return std::nullopt;
    }
    return std::discrete_distribution<int>(spent.begin(), spent.end())(draw);
}

void run(const Wishes& wishes, std::FILE* out) {
    constexpr int kPollMs = 200;
    std::mt19937_64 draw{std::random_device{}()};
    // Frequencies are measured at random times, as the modes are sampled, so as not to keep step
    // with anything periodic.
    const double period_ms = wishes.look_ms > 0 ? wishes.look_ms : kPollMs;
    std::uniform_real_distribution<double> pause(0.75 * period_ms, 1.25 * period_ms);
    const Descriptor folder = open_folder(wishes.group);
    Target target;
    if (wishes.process > 0) {
        target.processes.insert(wishes.process);
    }
    add_groups(wishes.group, target);
    Samples samples;
    Frequency frequency;
    Looks looks(wishes.budget);
    const Blocks blocks(wishes.device);
    const CycleCounters cycles(folder.number());
    const auto blocks_before = blocks.counts();
    const auto cycles_before = cycles.cycles();
    const double started = now();
    const double own_before = own_seconds();
    print_line(out, JsonObject().text("program", kProgram).boolean("ready", true).str());
    bool ended = false;
    while (!ended) {
        ended = input_ended(static_cast<int>(pause(draw)));
        add_groups(wishes.group, target);
        const auto used = looks.drain(target, samples, draw);
        if (!ended && wishes.look_ms > 0) {
            if (const auto cpu = drawn_by(used, draw)) {
                frequency.look(*cpu);
            }
        }
    }
    const double seconds = now() - started;
    const auto counted = between(blocks_before, blocks.counts());
    const auto spent = between(cycles_before, cycles.cycles());
    print_line(out, account_json(seconds, own_before, samples, looks, frequency, spent, counted));
}

}  // namespace

int watch(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 5> kNames{"--process", "--group", "--device",
                                                            "--budget", "--look-ms"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    return run_program(kProgram, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kHelp);
        } else {
            run(read_wishes(arguments), out);
        }
        return kVerified;
    });
}

}  // namespace aferir::account
