#include "npb/driver.hpp"

#include <omp.h>

#include <array>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/isa.hpp"
#include "common/json.hpp"
#include "common/program.hpp"

namespace aferir::npb {
namespace {

constexpr int kMostThreads = 4096;

struct Request {
    ProblemClass problem = ProblemClass::S;
    int threads = 1;
    Variant variant;
};

std::string help(std::string_view program, std::span<const Variant> variants) {
    std::string isas;
    for (const auto& variant : variants) {
        isas += (isas.empty() ? "" : "|") + std::string(variant.isa);
    }
    return "usage: " + std::string(program) + " --class S|W|A|B|C|D [--threads N] [--isa " + isas +
           "]\n"
           "Runs one NAS Parallel Benchmark, verifies it, and prints one line of JSON.\n"
           "  --class    problem class of NPB 3\n"
           "  --threads  OpenMP threads (default: all processors of this process)\n"
           "  --isa      instruction-set level (default: the best that this processor has)\n"
           "exit code: 0 verified, 1 not verified, 2 wrong command line, 3 not enough memory";
}

Request read_request(const Arguments& arguments, std::span<const Variant> variants) {
    const auto problem = read_class(arguments);
    const auto threads = arguments.integer("--threads", omp_get_num_procs(), 1, kMostThreads);
    return {problem, static_cast<int>(threads), choose_variant(variants, arguments.value("--isa"))};
}

std::string checks_json(const std::vector<Check>& checks) {
    std::string json;
    for (const auto& check : checks) {
        json += json.empty() ? "" : ",";
        json += JsonObject()
                    .text("name", check.name)
                    .number("computed", check.computed)
                    .number("reference", check.reference)
                    .number("relative_error", check.relative_error)
                    .str();
    }
    return "[" + json + "]";
}

std::string report(std::string_view program, const Request& request, const Outcome& outcome) {
    JsonObject json;
    json.text("program", program)
        .text("class", std::string(1, letter(request.problem)))
        .integer("threads", request.threads)
        .text("isa", request.variant.isa);
    return add_outcome(json, outcome).str();
}

}  // namespace

ProblemClass read_class(const Arguments& arguments) {
    const auto problem = parse_class(arguments.value("--class").value_or(""));
    if (!problem) {
        throw UsageError("say which problem to run: --class S, W, A, B, C or D");
    }
    return *problem;
}

JsonObject& add_outcome(JsonObject& json, const Outcome& outcome) {
    // A run that did not verify has no figures, as it did not compute the benchmark.
    if (outcome.verified) {
        json.integer("iterations", outcome.iterations)
            .number("duration_s", outcome.seconds)
            .number("throughput_mops", outcome.operations / outcome.seconds / 1e6);
    }
    if (!outcome.variant.empty()) {
        json.text("variant", outcome.variant);
    }
    if (outcome.residual_norm) {
        json.number("residual_norm", *outcome.residual_norm);
    }
    json.boolean("verified", outcome.verified);
    if (!outcome.verified) {
        json.text("error",
                  "the computed values differ from the published ones by more than the "
                  "specification allows; the result is worthless");
    }
    return json.raw("checks", checks_json(outcome.checks));
}

int drive(std::string_view program, std::span<const Variant> variants,
          std::span<const std::string_view> given, std::FILE* out, std::FILE* err) {
    static constexpr std::array<std::string_view, 3> kNames{"--class", "--threads", "--isa"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    return run_program(program, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            print_line(out, help(program, variants));
            return kVerified;
        }
        const auto request = read_request(arguments, variants);
        omp_set_dynamic(0);
        omp_set_num_threads(request.threads);
        const auto outcome = request.variant.run(request.problem, request.threads);
        print_line(out, report(program, request, outcome));
        return outcome.verified ? kVerified : kUnverified;
    });
}

int drive_main(const char* program, std::span<const Variant> variants, int count, char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    return drive(program, variants, given, stdout, stderr);
}

}  // namespace aferir::npb
