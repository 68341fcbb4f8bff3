// b-eff: the effective bandwidth of the network between the processes of an MPI job.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "beff/definition.hpp"
#include "beff/measure.hpp"
#include "beff/rings.hpp"
#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/mpi_abort.hpp"
#include "common/mpi_finalize.hpp"
#include "common/program.hpp"

namespace aferir::beff {
namespace {

constexpr std::string_view kProgram = "b-eff";
constexpr std::string_view kUsage =
    "usage: mpirun -n N b-eff [OPTIONS]    two processes at least\n"
    "Measures the effective bandwidth over MPI; rank 0 prints one line of JSON.\n"
    "  --memory BYTES   memory of a process (2147483648); the largest message is 1/128 of it,\n"
    "                   128 MiB at most\n"
    "  --budget MS      time for all patterns of one message size by one method (500); 189 such\n"
    "  --seed N         which random rings (1)\n"
    "  --repetitions N  of all, of which the best counts; b_eff has three (3)\n"
    "  --patterns all|challenge   challenge: only the ping-pong and rings of the HPC Challenge\n"
    "exit code: 0 measured, 1 data came out wrong, 2 wrong command line, 3 not enough memory";
constexpr std::array<std::string_view, 5> kNames{"--memory", "--budget", "--seed", "--repetitions",
                                                 "--patterns"};
constexpr std::array<std::string_view, 1> kFlags{"--help"};
constexpr std::int64_t kLargestMessage = 128LL << 20;
constexpr std::int64_t kLeastMemory = 1LL << 20;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string array_of(std::span<const double> values) {
    std::string text = "[";
    for (const double value : values) {
        std::array<char, 32> digits{};
        auto* const end = std::to_chars(digits.begin(), digits.end(), value).ptr;
        text.append(text.size() > 1 ? "," : "").append(digits.begin(), end);
    }
    return text + "]";
}

void add_challenge(JsonObject& line, const Challenge& found) {
    line.number("ping_pong_latency_least_s", found.latency_s.least)
        .number("ping_pong_latency_s", found.latency_s.mean)
        .number("ping_pong_latency_most_s", found.latency_s.most)
        .number("ping_pong_bandwidth_least_bps", found.bandwidth_bps.least)
        .number("ping_pong_bandwidth_bps", found.bandwidth_bps.mean)
        .number("ping_pong_bandwidth_most_bps", found.bandwidth_bps.most)
        .number("natural_ring_latency_s", found.natural.latency_s)
        .number("natural_ring_bandwidth_bps", found.natural.bandwidth_bps)
        .number("random_ring_latency_s", found.random.latency_s)
        .number("random_ring_bandwidth_bps", found.random.bandwidth_bps);
}

void add_effective(JsonObject& line, const Options& options, const Measured& measured) {
    const auto sizes = message_sizes(options.largest_bytes);
    std::array<double, kSizes> bytes{};
    std::array<double, kSizes> rings{};
    std::array<double, kSizes> random{};
    for (std::size_t size = 0; size < kSizes; ++size) {
        bytes[size] = static_cast<double>(sizes[size]);
        const Effective found = by_size(measured, size);
        rings[size] = found.rings;
        random[size] = found.random;
    }
    const Effective whole = effective_bandwidth(measured);
    line.number("b_eff_bps", whole.all)
        .number("rings_bps", whole.rings)
        .number("random_bps", whole.random)
        .number("largest_message_bps", by_size(measured, kSizes - 1).all)
        .number("sendrecv_bps", by_method(measured, 0).all)
        .number("alltoallv_bps", by_method(measured, 1).all)
        .number("nonblocking_bps", by_method(measured, 2).all)
        .raw("message_bytes", array_of(bytes))
        .raw("rings_by_size_bps", array_of(rings))
        .raw("random_by_size_bps", array_of(random));
}

Options options_of(const Arguments& arguments) {
    const auto memory = arguments.integer("--memory", 2LL << 30, kLeastMemory, 1LL << 45);
    Options options;
    options.largest_bytes = std::min<std::int64_t>(memory / kMemoryOverLargest, kLargestMessage);
    options.budget_s = static_cast<double>(arguments.integer("--budget", 500, 1, 60'000)) * 1e-3;
    options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 31));
    options.repetitions =
        static_cast<std::size_t>(arguments.integer("--repetitions", kRepetitions, 1, kRepetitions));
    return options;
}

bool wants_all(const Arguments& arguments) {
    const auto patterns = arguments.value("--patterns").value_or("all");
    if (patterns != "all" && patterns != "challenge") {
        throw UsageError("--patterns is '" + std::string(patterns) + "'; give all or challenge");
    }
    return patterns == "all";
}

int run(const Arguments& arguments) {
    const World here = world();
    if (arguments.has("--help")) {
        if (here.rank == 0) {
            print_line(stdout, kUsage);
        }
        return kVerified;
    }
    if (here.processes < 2) {
        throw UsageError("a message takes two processes; start it with mpirun -n 2 at least");
    }
    const Options options = options_of(arguments);
    const bool all = wants_all(arguments);
    const auto start = std::chrono::steady_clock::now();
    const Challenge challenge = measure_challenge(options.seed);
    const Outcome outcome = all ? measure(options) : Outcome{};
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const bool intact = challenge.intact && outcome.intact;
    if (here.rank == 0) {
        JsonObject line;
        line.text("program", kProgram).text("mpi", AFERIR_MPI).integer("processes", here.processes);
        line.boolean("verified", intact).number("duration_s", elapsed.count());
        if (intact) {
            add_challenge(line, challenge);
            if (all) {
                add_effective(line, options, outcome.measured);
            }
        } else {
            line.text("error", "a message came with other bytes than were sent");
        }
        print_line(stdout, line.str());
    }
    return intact ? kVerified : kUnverified;
}

}  // namespace
}  // namespace aferir::beff

int main(int count, char** values) {
    namespace beff = aferir::beff;
    MPI_Init(&count, &values);
    const std::vector<std::string_view> given(values + 1, values + count);
    // An error in the command line is the same for all processes, and reported once.
    const std::unique_ptr<std::FILE, beff::CloseFile> silence(std::fopen("/dev/null", "w"));
    auto* const err = beff::world().rank == 0 || silence == nullptr ? stderr : silence.get();
    const int code = aferir::run_program(beff::kProgram, err, [&] {
        try {
            return beff::run(aferir::Arguments(given, beff::kNames, beff::kFlags));
        } catch (const std::bad_alloc&) {
            aferir::print_line(stderr, "b-eff: the buffers do not fit; give a smaller --memory");
            return static_cast<int>(aferir::kNoMemory);
        }
    });
    if (code == aferir::kNoMemory) {
        // other processes may have enough memory, and would wait for this one
        aferir::abort_ranks(code);
    }
    aferir::finalize_ranks(code);
    return code;
}
