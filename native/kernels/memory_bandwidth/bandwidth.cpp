#include "memory_bandwidth/bandwidth.hpp"

#include <omp.h>

#include <algorithm>
#include <string>

#include "common/arguments.hpp"
#include "common/json.hpp"
#include "common/memory.hpp"
#include "common/program.hpp"
#include "memory_bandwidth/cache.hpp"

namespace aferir {
namespace {

constexpr std::string_view kProgram = "memory-bandwidth";
// McCalpin's rule for STREAM: each array at least four times all last-level caches together.
constexpr std::size_t kCacheFactor = 4;
constexpr std::size_t kArrays = 3;
constexpr std::size_t kLine = 64;
// for the program itself, and a margin for others
constexpr std::size_t kReserve = std::size_t{64} << 20U;
constexpr std::size_t kLeastBytes = std::size_t{1} << 16U;
constexpr double kTolerance = 1e-12;

constexpr std::string_view kHelp =
    "usage: memory-bandwidth [--threads N] [--array-bytes N] [--allow-small] [--repetitions N]\n"
    "                        [--stores non-temporal|regular]\n"
    "Measures sustained memory bandwidth (copy, scale, add, triad) and prints one line of JSON.\n"
    "  --threads      OpenMP threads (default: all processors of this process)\n"
    "  --array-bytes  size of each of three arrays (default: 4 x all last-level caches)\n"
    "  --allow-small  take smaller arrays where memory is short or --array-bytes says so\n"
    "  --repetitions  timed rounds (default: 20)\n"
    "  --stores       past the caches (default where the processor can) or through them\n"
    "exit code: 0 verified, 1 not verified, 2 wrong command line, 3 not enough memory";

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

Stores read_stores(const Arguments& arguments) {
    const auto text = arguments.value("--stores");
    if (!text) {
        return has_non_temporal_stores() ? Stores::kNonTemporal : Stores::kRegular;
    }
    if (*text == "regular") {
        return Stores::kRegular;
    }
    if (*text == "non-temporal" && has_non_temporal_stores()) {
        return Stores::kNonTemporal;
    }
    throw UsageError("--stores is '" + std::string(*text) + "'; this build has regular" +
                     (has_non_temporal_stores() ? " and non-temporal" : " only"));
}

BandwidthRequest read_request(const Arguments& arguments) {
    constexpr long long kMostBytes = 1LL << 44;
    BandwidthRequest request;
    if (arguments.has("--array-bytes")) {
        request.array_bytes = static_cast<std::size_t>(
            arguments.integer("--array-bytes", 0, static_cast<long long>(kLeastBytes), kMostBytes));
    }
    request.allow_small = arguments.has("--allow-small");
    request.threads =
        static_cast<int>(arguments.integer("--threads", omp_get_num_procs(), 1, 4096));
    request.repetitions = static_cast<int>(arguments.integer("--repetitions", 20, 1, 10000));
    request.stores = read_stores(arguments);
    return request;
}

// Whole cache lines, so that no two threads write the same one.
Slices slice(const Slices& all, int part, int parts) {
    constexpr std::size_t kLineDoubles = kLine / sizeof(double);
    const auto lines = all.a.size() / kLineDoubles;
    const auto first = lines * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
    const auto last = lines * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(parts);
    const auto cut = [&](std::span<double> array) {
        return array.subspan(first * kLineDoubles, (last - first) * kLineDoubles);
    };
    return {cut(all.a), cut(all.b), cut(all.c)};
}

// Runs the rounds; called by every thread of a team. Thread 0 takes the time from barrier to
// barrier.
void run_rounds(const BandwidthRequest& request, const Slices& mine, Bandwidths& result) {
    for (int round = 0; round <= request.repetitions; ++round) {
        for (std::size_t i = 0; i < kOperations.size(); ++i) {
#pragma omp barrier
            const double start = omp_get_wtime();
            run_operation(kOperations[i], request.stores, mine);
#pragma omp barrier
            const double seconds = omp_get_wtime() - start;
            if (omp_get_thread_num() == 0 && round > 0) {
                result.seconds[i].push_back(seconds);
                result.duration_s += seconds;
            }
        }
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::size_t choose_array_bytes(const BandwidthRequest& request, std::size_t llc_bytes,
                               std::size_t available) {
    if (llc_bytes == 0 && !request.array_bytes) {
        throw UsageError(
            "the kernel does not tell the size of the caches; say --array-bytes N, at "
            "least four times all last-level caches together");
    }
    const auto least = kCacheFactor * llc_bytes;
    const auto wanted = request.array_bytes.value_or(least);
    if (wanted < least && !request.allow_small) {
        throw UsageError("--array-bytes is less than four times the last-level caches (" +
                         mebibytes(least) +
                         "), so caches would be measured; say --allow-small if that is meant");
    }
    const auto most = (available - std::min(available, kReserve)) / kArrays / kLine * kLine;
    if (wanted > most && (!request.allow_small || most < kLeastBytes)) {
        throw OutOfMemory("three arrays of " + mebibytes(wanted) + " do not fit into the " +
                          mebibytes(available) +
                          " available; raise the memory limit, or say --allow-small to measure "
                          "smaller arrays, which the caches may serve");
    }
    return std::min(wanted, most) / kLine * kLine;
}

Bandwidths measure_bandwidth(const BandwidthRequest& request, std::size_t array_bytes) {
    const auto size = array_bytes / sizeof(double);
    const HugeArray<double> a(size);
    const HugeArray<double> b(size);
    const HugeArray<double> c(size);
    const Slices all{a.span(), b.span(), c.span()};
    const auto expected = expected_values(request.repetitions + 1);
    Bandwidths result;
    double error = 0;
#pragma omp parallel num_threads(request.threads) reduction(max : error)
    {
        const auto mine = slice(all, omp_get_thread_num(), omp_get_num_threads());
        const Values initial;
        std::fill(mine.a.begin(), mine.a.end(), initial.a);
        std::fill(mine.b.begin(), mine.b.end(), initial.b);
        std::fill(mine.c.begin(), mine.c.end(), initial.c);
        run_rounds(request, mine, result);
        error = largest_error(mine, expected);
    }
    result.error = error;
    return result;
}

bool is_verified(const Bandwidths& result) { return result.error <= kTolerance; }

std::string bandwidth_report(const BandwidthRequest& request, std::size_t array_bytes,
                             std::size_t llc_bytes, const Bandwidths& result) {
    JsonObject json;
    json.text("program", kProgram)
        .integer("threads", request.threads)
        .integer("array_bytes", array_bytes)
        .integer("llc_bytes", llc_bytes)
        .boolean("beyond_caches", llc_bytes > 0 && array_bytes >= kCacheFactor * llc_bytes)
        .text("stores", request.stores == Stores::kRegular ? "regular" : "non-temporal")
        .integer("repetitions", request.repetitions);
    if (!is_verified(result)) {
        return json.boolean("verified", false)
            .text("error", "the arrays do not hold what arithmetic says; the result is worthless")
            .str();
    }
    json.number("duration_s", result.duration_s);
    for (std::size_t i = 0; i < kOperations.size(); ++i) {
        const auto elements = array_bytes / sizeof(double);
        const auto bytes = static_cast<double>(elements * bytes_per_element(kOperations[i]));
        const auto& seconds = result.seconds[i];
        const std::string key(name(kOperations[i]));
        json.number(key + "_bps", bytes / *std::min_element(seconds.begin(), seconds.end()));
        json.number(key + "_median_bps", bytes / median(seconds));
    }
    return json.boolean("verified", true).str();
}

int memory_bandwidth(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 4> kNames{"--threads", "--array-bytes",
                                                            "--repetitions", "--stores"};
    static constexpr std::array<std::string_view, 2> kFlags{"--help", "--allow-small"};
    return run_program(kProgram, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kHelp);
            return kVerified;
        }
        const auto request = read_request(arguments);
        const auto llc_bytes = last_level_cache_bytes("/");
        const auto bytes = choose_array_bytes(request, llc_bytes, available_memory_bytes());
        omp_set_dynamic(0);
        const auto result = measure_bandwidth(request, bytes);
        print_line(out, bandwidth_report(request, bytes, llc_bytes, result));
        return is_verified(result) ? kVerified : kUnverified;
    });
}

}  // namespace aferir
