#include "checkpoint/request.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "common/json.hpp"
#include "common/memory.hpp"
#include "io/hash.hpp"
#include "io/report.hpp"

namespace aferir::checkpoint {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kWordBytes = 8;
constexpr std::size_t kProcess = 4U << 20U;

bool second_of(const Arguments& arguments, std::string_view name, std::string_view first,
               std::string_view second) {
    const auto value = arguments.value(name).value_or(first);
    if (value != first && value != second) {
        throw UsageError(std::string(name) + " is '" + std::string(value) + "'; give " +
                         std::string(first) + " or " + std::string(second));
    }
    return value == second;
}

void check(const Options& options, Api api) {
    const auto& layout = options.layout;
    if (layout.block_bytes % layout.transfer_bytes != 0 ||
        layout.transfer_bytes % kWordBytes != 0) {
        throw UsageError("--transfer-bytes has to divide --block-bytes, and be a multiple of 8");
    }
    if (options.direct && layout.transfer_bytes % kPage != 0) {
        throw UsageError("--direct needs --transfer-bytes to be a multiple of 4096");
    }
    if (options.direct && api == Api::kMpiIo) {
        throw UsageError("--direct is of --api posix alone; MPI-IO has no such option");
    }
    if (options.collective && api == Api::kPosix) {
        throw UsageError("--collective is of --api mpiio alone");
    }
}

double span_of(std::span<const Result> results, double Result::* begin, double Result::* end) {
    double first = results.front().*begin;
    double last = results.front().*end;
    for (const auto& result : results) {
        first = std::min(first, result.*begin);
        last = std::max(last, result.*end);
    }
    return last - first;
}

}  // namespace

Api api_of(const Arguments& arguments) {
    return second_of(arguments, "--api", "posix", "mpiio") ? Api::kMpiIo : Api::kPosix;
}

std::string_view mpi_of(const Arguments& arguments) {
    return second_of(arguments, "--mpi", "openmpi", "mpich") ? "mpich" : "openmpi";
}

Options options_of(const Arguments& arguments) {
    const auto number = [&](std::string_view name, long long otherwise, long long least,
                            long long most) {
        return static_cast<std::uint64_t>(arguments.integer(name, otherwise, least, most));
    };
    const Options options{
        .layout = {.processes = number("--processes", 2, 1, 1024),
                   .segments = number("--segments", 4, 1, 1LL << 20U),
                   .block_bytes = number("--block-bytes", 16LL << 20U, 8, 1LL << 40U),
                   .transfer_bytes = number("--transfer-bytes", 1LL << 20U, 8, 1LL << 30U),
                   .shared = !second_of(arguments, "--files", "shared", "each")},
        .seed = number("--seed", 1, 0, 1LL << 62U),
        .direct = arguments.has("--direct"),
        .sync = !arguments.has("--no-sync"),
        .cold = arguments.has("--cold"),
        .collective = arguments.has("--collective"),
    };
    check(options, api_of(arguments));
    return options;
}

void require_memory_for(const Options& options) {
    require_memory(options.layout.processes * (options.layout.transfer_bytes + kProcess));
}

std::filesystem::path file_of(const std::filesystem::path& folder, const Layout& layout,
                              std::uint64_t owner) {
    return folder / ("checkpoint-" + (layout.shared ? "all" : std::to_string(owner)));
}

int print_results(const Options& options, std::string_view api, std::span<const Result> results,
                  const io::Counts& counts) {
    const auto& layout = options.layout;
    const auto bytes = layout.processes * layout.segments * layout.block_bytes;
    std::uint64_t wrong = 0;
    io::CpuTime cpu;
    for (const auto& result : results) {
        wrong += result.wrong_words;
        cpu += result.cpu;
    }
    std::string error = wrong == 0 ? "" : std::to_string(wrong) + " words are not what was written";
    if (counts.read_bytes != bytes || counts.written_bytes != bytes) {
        error = "another number of bytes was written or read than the checkpoint has";
    }
    const double write_s = span_of(results, &Result::write_begin_s, &Result::write_end_s);
    const double read_s = span_of(results, &Result::read_begin_s, &Result::read_end_s);
    JsonObject line;
    line.text("program", kProgram)
        .text("api", api)
        .integer("processes", layout.processes)
        .integer("segments", layout.segments)
        .integer("block_bytes", layout.block_bytes)
        .integer("transfer_bytes", layout.transfer_bytes)
        .text("files", layout.shared ? "shared" : "each")
        .boolean("direct", options.direct)
        .boolean("collective", options.collective)
        .boolean("cold", options.cold);
    if (error.empty()) {
        line.number("write_duration_s", write_s)
            .number("read_duration_s", read_s)
            .number("write_bps", static_cast<double>(bytes) / write_s)
            .number("read_bps", static_cast<double>(bytes) / read_s);
    }
    const io::Outcome outcome{.counts = counts,
                              .duration_s = write_s + read_s,
                              .cpu = cpu,
                              .hash = io::mix(options.seed ^ io::mix(bytes))};
    return io::print_outcome(line, outcome, error);
}

}  // namespace aferir::checkpoint
