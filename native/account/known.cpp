// Programs with known results for testing an account: with a given number of cycles, or with a mix
// of user and system time that the program itself measures, by the kernel's exact account of a
// thread's time at every change between the two.

#include "account/known.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/arguments.hpp"
#include "common/descriptor.hpp"
#include "common/json.hpp"
#include "common/program.hpp"
#include "core_frequency/frequency.hpp"

namespace aferir::account {
namespace {

constexpr std::string_view kKnownProgram = "account-known";
constexpr std::string_view kKnownHelp =
    "usage: account-known --megacycles N [--chain add|multiply]\n"
    "       account-known --seconds N --system-percent N [--phase-us N]\n"
    "Spends a known number of cycles, or a known mix of user and system time, and prints a line "
    "of\n"
    "JSON with what it knows of itself.\n"
    "exit code: 0 done, 2 wrong command line";

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

std::string spend_cycles(long long megacycles, Chain chain) {
    const double wanted = 1e6 * static_cast<double>(megacycles);
    const auto windows = static_cast<std::int64_t>(wanted / window_cycles());
    const double before = cpu_seconds();
    for (std::int64_t i = 0; i < windows; ++i) {
        run_chain(chain);
    }
    return JsonObject()
        .text("program", kKnownProgram)
        .boolean("verified", true)
        .number("cycles", static_cast<double>(windows) * window_cycles())
        .number("duration_s", cpu_seconds() - before)
        .str();
}

/// Reads zeros, which the kernel has to write: so many at once that entering and leaving the kernel
/// takes almost no time.
class Kernel {
  public:
    Kernel() : file_(open("/dev/zero", O_RDONLY | O_CLOEXEC)), bytes_(1 << 20, 1) {
        if (!file_.open()) {
            throw std::runtime_error("/dev/zero cannot be opened");
        }
    }

    void work() {
        if (read(file_.number(), bytes_.data(), bytes_.size()) < 0) {
            throw std::runtime_error("/dev/zero cannot be read");
        }
    }

  private:
    Descriptor file_;
    std::vector<char> bytes_;
};

/// Thread seconds that `work` takes when it is repeated for about `seconds`.
template <typename Work>
double spend(double seconds, Work work) {
    const double before = cpu_seconds();
    const double end = seconds_of(CLOCK_MONOTONIC) + seconds;
    while (seconds_of(CLOCK_MONOTONIC) < end) {
        work();
    }
    return cpu_seconds() - before;
}

std::string spend_mix(double seconds, double system_share, double phase) {
    Kernel kernel;
    double user = 0;
    double system = 0;
    const double start = seconds_of(CLOCK_MONOTONIC);
    while (seconds_of(CLOCK_MONOTONIC) - start < seconds) {
        if (system_share < 1) {
            user += spend(phase * (1 - system_share), [] { run_chain(Chain::multiply); });
        }
        if (system_share > 0) {
            system += spend(phase * system_share, [&] { kernel.work(); });
        }
    }
    return JsonObject()
        .text("program", kKnownProgram)
        .boolean("verified", true)
        .number("user_s", user)
        .number("system_s", system)
        .number("duration_s", seconds_of(CLOCK_MONOTONIC) - start)
        .str();
}

}  // namespace

int known(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 5> kNames{"--megacycles", "--chain", "--seconds",
                                                            "--system-percent", "--phase-us"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    return run_program(kKnownProgram, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kKnownHelp);
            return kVerified;
        }
        if (arguments.has("--megacycles")) {
            const auto chain = arguments.value("--chain").value_or("multiply");
            if (chain != "add" && chain != "multiply") {
                throw UsageError("--chain is add or multiply");
            }
            const auto count = arguments.integer("--megacycles", 0, 1, 100'000'000);
            print_line(out, spend_cycles(count, chain == "add" ? Chain::add : Chain::multiply));
            return kVerified;
        }
        const auto seconds = static_cast<double>(arguments.integer("--seconds", 10, 1, 3600));
        const auto percent = static_cast<double>(arguments.integer("--system-percent", 50, 0, 100));
        const auto phase =
            static_cast<double>(arguments.integer("--phase-us", 4000, 100, 10'000'000));
        print_line(out, spend_mix(seconds, percent / 100, phase * 1e-6));
        return kVerified;
    });
}

}  // namespace aferir::account
