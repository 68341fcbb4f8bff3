// Peak rate of double-precision arithmetic: the flat part of a roofline (Williams, Waterman and
// Patterson, CACM 52, 2009).

#include "peak_flops/peak.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "common/arguments.hpp"
#include "common/isa.hpp"
#include "common/json.hpp"
#include "common/program.hpp"

namespace aferir {
namespace {

constexpr std::string_view kProgram = "peak-flops";
constexpr std::string_view kHelp =
    "usage: peak-flops [--threads N] [--rounds N]\n"
    "Measures the peak rate of double-precision multiply-adds in registers, of the best\n"
    "instruction-set level, and prints one line of JSON.\n"
    "  --threads  OpenMP threads (default: all processors of this process)\n"
    "  --rounds   timed rounds of about 1 ms, of each level (default: 100)\n"
    "exit code: 0 verified, 1 not verified, 2 wrong command line";

struct Variant {
    std::string_view isa;
    peak::MultiplyAdd* multiply_add;
};

constexpr std::array kVariants{
#if defined(__x86_64__)
    Variant{"v4", peak::isa_v4::multiply_add},
    Variant{"v3", peak::isa_v3::multiply_add},
    Variant{"v2", peak::isa_v2::multiply_add},
#else
    Variant{"base", peak::isa_base::multiply_add},
#endif
};

// Each step replaces x by x * (1 - h) + h * kLimit, so that n steps multiply the distance of x from
// kLimit by (1 - h)^n. With n = 1/h, x goes only part of the way: a step left out would be noticed.
constexpr long kSteps = 1L << 14;
constexpr double kShare = 1.0 / kSteps;
constexpr double kLimit = 3.0;
constexpr int kBlocks = 20;
constexpr double kTolerance = 1e-10;  // of 2^14 roundings

double start_of(std::size_t place) { return 1 + static_cast<double>(place) / peak::kMostValues; }

double expected(std::size_t place) {
    const double left = std::exp(static_cast<double>(kSteps) * std::log1p(-kShare));
    return kLimit + (start_of(place) - kLimit) * left;
}

// One block: steps from the start, and the worst relative error of their results.
double run_block(peak::MultiplyAdd* multiply_add, std::size_t& count) {
    std::array<double, peak::kMostValues> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        values.at(i) = start_of(i);
    }
    count = multiply_add(values.data(), kSteps, 1 - kShare, kShare * kLimit);
    double error = 0;
    for (std::size_t i = 0; i < count; ++i) {
        error = std::max(error, std::abs(values.at(i) / expected(i) - 1));
    }
    return error;
}

}  // namespace

Peak measure_peak(std::string_view isa, peak::MultiplyAdd* multiply_add, int threads, int rounds) {
    std::vector<double> seconds;
    std::size_t count = 0;
    double error = 0;
#pragma omp parallel num_threads(threads) reduction(max : error)
    for (int round = 0; round <= rounds; ++round) {
        std::size_t own = 0;
#pragma omp barrier
        const double start = omp_get_wtime();
        for (int block = 0; block < kBlocks; ++block) {
            error = std::max(error, run_block(multiply_add, own));
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0 && round > 0) {
            seconds.push_back(omp_get_wtime() - start);
            count = own;
        }
    }
    std::sort(seconds.begin(), seconds.end());
    const double operations =
        2.0 * static_cast<double>(count) * static_cast<double>(kSteps) * kBlocks * threads;
    return {isa, operations / seconds.front(), operations / seconds[seconds.size() / 2], error};
}

bool is_verified(const Peak& peak) { return peak.error <= kTolerance; }

namespace {

Peak best_peak(int threads, int rounds) {
    Peak best;
    for (const auto isa : usable_isas()) {
        for (const auto& variant : kVariants) {
            if (variant.isa == isa) {
                const auto peak = measure_peak(isa, variant.multiply_add, threads, rounds);
                best = peak.flops > best.flops || !is_verified(peak) ? peak : best;
            }
        }
        if (best.flops > 0 && !is_verified(best)) {
            break;
        }
    }
    return best;
}

std::string report(const Peak& peak, int threads, double duration_s) {
    JsonObject json;
    json.text("program", kProgram).integer("threads", threads).text("isa", peak.isa);
    if (!is_verified(peak)) {
        return json.boolean("verified", false)
            .text("error", "the values are not what arithmetic says; the result is worthless")
            .str();
    }
    return json.number("duration_s", duration_s)
        .number("peak_flops", peak.flops)
        .number("median_flops", peak.median_flops)
        .boolean("verified", true)
        .str();
}

}  // namespace

int peak_flops(std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 2> kNames{"--threads", "--rounds"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    return run_program(kProgram, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, kHelp);
            return kVerified;
        }
        const auto threads =
            static_cast<int>(arguments.integer("--threads", omp_get_num_procs(), 1, 4096));
        const auto rounds = static_cast<int>(arguments.integer("--rounds", 100, 1, 10'000));
        omp_set_dynamic(0);
        const double start = omp_get_wtime();
        const auto peak = best_peak(threads, rounds);
        print_line(out, report(peak, threads, omp_get_wtime() - start));
        return is_verified(peak) ? kVerified : kUnverified;
    });
}

}  // namespace aferir
