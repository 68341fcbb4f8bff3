// Core frequency without a cycle counter: a chain of dependent instructions of known latency.
//
// x86-64: imul of two registers has a latency of 3 cycles on Intel since Nehalem and on AMD since
// Zen (A. Fog, Instruction tables; uops.info). Other processors: a dependent add, 1 cycle.
// Either is unrolled, so that the loop's own count and branch run beside the chain.

#include "core_frequency/frequency.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/program.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace aferir {
namespace {

constexpr std::string_view kProgram = "core-frequency";
constexpr std::string_view kHelp =
    "usage: core-frequency [--cpu N] [--milliseconds N]\n"
    "Measures the frequency at which a core really runs and prints one line of JSON.\n"
    "  --cpu           processor to run on (default: wherever the scheduler puts it)\n"
    "  --milliseconds  how long to measure (default: 50)\n"
    "exit code: 0 measured, 2 wrong command line";

#if defined(__x86_64__)
constexpr int kLatency = 3;
#else
constexpr int kLatency = 1;
#endif
constexpr int kUnrolled = 64;
// About 50 microseconds at 4 GHz: long beside the 25 ns of a look at the clock (0.05 %), short
// beside the milliseconds between two timer ticks.
constexpr int kRounds = 200'000 / (kUnrolled * kLatency);
constexpr int kAddRounds = kRounds * kLatency;
constexpr double kWindowCycles = double{kRounds} * kUnrolled * kLatency;

std::int64_t raw_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Seconds since the first call: after months of uptime, a double of the whole time would lose the
// nanoseconds.
double now() {
    static const std::int64_t origin = raw_nanoseconds();
    return static_cast<double>(raw_nanoseconds() - origin) * 1e-9;
}

std::uint64_t read_ticks() {
#if defined(__x86_64__)
    _mm_lfence();  // a bare rdtsc may be executed before what stands before it
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return static_cast<std::uint64_t>(now() * 1e9);
#endif
}

void run_multiplications() {
    std::uint64_t value = 1;
    for (int round = 0; round < kRounds; ++round) {
#if defined(__x86_64__)
        asm volatile(".rept 64\n\timul %0, %0\n\t.endr" : "+r"(value));
#elif defined(__aarch64__)
        asm volatile(".rept 64\n\tadd %0, %0, %0\n\t.endr" : "+r"(value));
#else
        for (int i = 0; i < kUnrolled; ++i) {
            asm volatile("" : "+r"(value));
            value += value;
        }
#endif
    }
}

// Adds registers, since some processors (Golden Cove) compute additions of small constants before
// execution.
void run_additions() {
    std::uint64_t value = 1;
    for (int round = 0; round < kAddRounds; ++round) {
#if defined(__x86_64__)
        asm volatile(".rept 64\n\tadd %0, %0\n\t.endr" : "+r"(value) : : "cc");
#elif defined(__aarch64__)
        asm volatile(".rept 64\n\teor %0, %0, %0\n\t.endr" : "+r"(value));
#else
        for (int i = 0; i < kUnrolled; ++i) {
            asm volatile("" : "+r"(value));
            value += value;
        }
#endif
    }
}

struct Windows {
    std::vector<double> multiply;
    std::vector<double> add;
};

// Alternates the chains, so that both see the same frequency.
Windows run_windows(double duration) {
    Windows seconds;
    const double end = now() + duration;
    do {
        seconds.multiply.push_back(time_window(Chain::multiply));
        seconds.add.push_back(time_window(Chain::add));
    } while (now() < end);
    return seconds;
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw UsageError("--cpu " + std::to_string(cpu) +
                         " is not a processor that this process may run on; `nproc` and taskset "
                         "-p tell which are");
    }
}

std::string measure(double duration) {
    // Untimed, to leave the idle state's low frequency.
    run_windows(duration / 10);
    const auto first = read_counter();
    const auto seconds = run_windows(duration);
    const auto last = read_counter();
    const auto result = frequencies(seconds.multiply, kWindowCycles);
    const auto check = frequencies(seconds.add, kWindowCycles);
    return JsonObject()
        .text("program", kProgram)
        .integer("cpu", sched_getcpu())
        .number("frequency_hz", result.highest_hz)
        .number("median_hz", result.median_hz)
        .number("add_frequency_hz", check.highest_hz)
        .number("tsc_hz", counter_rate(first, last))
        .number("duration_s", last.seconds - first.seconds)
        .integer("windows", seconds.multiply.size())
        .str();
}

}  // namespace

double window_cycles() { return kWindowCycles; }

void run_chain(Chain chain) {
    if (chain == Chain::add) {
        run_additions();
    } else {
        run_multiplications();
    }
}

double time_window(Chain chain) {
    const double start = now();
    run_chain(chain);
    return now() - start;
}

CounterReading read_counter() {
    constexpr int kTries = 16;
    CounterReading best;
    double tightest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
        const double before = now();
        const auto ticks = read_ticks();
        const double after = now();
        if (after - before < tightest) {
            tightest = after - before;
            best = {ticks, before + (after - before) / 2};
        }
    }
    return best;
}

double counter_rate(const CounterReading& first, const CounterReading& last) {
    return static_cast<double>(last.ticks - first.ticks) / (last.seconds - first.seconds);
}

Frequencies frequencies(std::span<const double> seconds, double cycles) {
    std::vector<double> sorted(seconds.begin(), seconds.end());
    std::sort(sorted.begin(), sorted.end());
    return {cycles / sorted.front(), cycles / sorted[sorted.size() / 2]};
}

int core_frequency(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 2> kNames{"--cpu", "--milliseconds"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    return run_program(kProgram, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kHelp);
            return kVerified;
        }
        const auto milliseconds = arguments.integer("--milliseconds", 50, 1, 60'000);
        if (arguments.has("--cpu")) {
            pin(static_cast<int>(arguments.integer("--cpu", 0, 0, CPU_SETSIZE - 1)));
        }
        print_line(out, measure(static_cast<double>(milliseconds) * 1e-3));
        return kVerified;
    });
}

}  // namespace aferir
