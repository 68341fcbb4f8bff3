// dedup: compression by deduplication in a pipeline of five stages, after PARSEC's.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "dedup/archive.hpp"
#include "dedup/chunker.hpp"
#include "dedup/pipeline.hpp"
#include "io/duplicates.hpp"
#include "io/hash.hpp"
#include "io/processes.hpp"
#include "io/report.hpp"
#include "io/scratch.hpp"

namespace aferir::dedup {
namespace {

constexpr std::string_view kProgram = "dedup";
constexpr std::string_view kUsage =
    "usage: dedup [OPTIONS]\n"
    "Compresses generated files by deduplication, in a pipeline; prints one line of JSON.\n"
    "  --instances N        processes, each with a file of its own (1)\n"
    "  --threads N          of each of the stages refine, hash and compress (2)\n"
    "  --file-bytes N       size of each file (67108864)\n"
    "  --duplicate-percent N  share of a file that repeats earlier parts (50)\n"
    "  --level N            of zlib, 1 to 9 (6)\n"
    "  --seed N             of the files (1)\n"
    "  --cold               the page cache holds nothing of the files at the start\n"
    "  --folder PATH        where files are made, and removed ($AFERIR_SCRATCH, else /var/tmp)\n"
    "exit code: 0 verified, 1 not, 2 wrong command line, 3 not enough memory, 4 disk full or a "
    "file\n"
    "cannot be used, 5 a process was killed";
constexpr std::array<std::string_view, 6> kNames{"--instances",         "--threads", "--file-bytes",
                                                 "--duplicate-percent", "--level",   "--seed"};
constexpr std::array<std::string_view, 1> kFlags{"--cold"};
constexpr std::uint32_t kTerms = 50'000;
constexpr std::size_t kBase = 24U << 20U;
constexpr std::size_t kContentBytes = 192;  // in memory, of each content that was met
constexpr std::size_t kCopies = 3;          // of a fragment: its data, packed, and read ahead

struct Options {
    int instances;
    Settings settings;
    std::uint64_t file_bytes;
    unsigned percent;
    std::uint64_t seed;
    bool cold;
};

struct Result {
    io::Counts counts;
    double begin_s = 0;
    double end_s = 0;
    io::CpuTime cpu;
    std::uint64_t hash = 0;
    std::uint64_t archive_bytes = 0;
    Found found;
    bool restored = false;
    bool plausible = false;
};

Options options_of(const Arguments& arguments) {
    return {
        .instances = static_cast<int>(arguments.integer("--instances", 1, 1, 1024)),
        .settings = {.threads = static_cast<int>(arguments.integer("--threads", 2, 1, 1024)),
                     .level = static_cast<int>(arguments.integer("--level", 6, 1, 9))},
        .file_bytes = static_cast<std::uint64_t>(
            arguments.integer("--file-bytes", 64LL << 20U, 1024, 1LL << 45U)),
        .percent = static_cast<unsigned>(arguments.integer("--duplicate-percent", 50, 0, 95)),
        .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 62U)),
        .cold = arguments.has("--cold"),
    };
}

std::size_t memory_of(const Options& options) {
    const auto one = kBase + kCopies * kFragment * most_under_way(options.settings.threads) +
                     options.file_bytes / kMeanChunk * kContentBytes;
    return static_cast<std::size_t>(options.instances) * one;
}

// Hash of the restored data, computed segment by segment as the generator does.
std::uint64_t hash_of_archive(io::File& archive, std::span<const io::Segment> plan) {
    std::string text;
    std::uint64_t hash = 0;
    auto segment = plan.begin();
    const auto take = [&](std::span<const std::byte> data) {
        text.append(reinterpret_cast<const char*>(data.data()), data.size());
        while (segment != plan.end() && text.size() >= segment->bytes) {
            hash = io::mix(hash ^ io::hash_text(std::string_view(text).substr(0, segment->bytes)));
            text.erase(0, segment->bytes);
            ++segment;
        }
    };
    const ReadAt read = [&](auto data, auto offset) { return archive.read_at(data, offset); };
    try {
        restore(read, take);
    } catch (const ArchiveError&) {
        return ~hash;
    }
    return segment == plan.end() && text.empty() ? hash : ~hash;
}

Result instance(const Options& options, int number, const std::filesystem::path& folder,
                const io::Barrier& ready) {
    const auto place = std::to_string(number);
    const auto data = folder / ("data-" + place);
    const auto packed = folder / ("archive-" + place);
    const auto seed = io::mix(options.seed + static_cast<std::uint64_t>(number));
    const auto plan = io::duplicate_plan(seed, options.file_bytes, options.percent);
    Result result;
    {
        const io::TextSource source(seed, kTerms);
        result.hash = io::write_duplicates(data, source, plan, options.cold);
    }
    io::Volume volume;
    ready.wait();
    result.begin_s = io::now_s();
    const auto used = io::cpu_now();
    {
        io::File input(data, O_RDONLY, volume);
        io::File output(packed, O_WRONLY | O_CREAT | O_EXCL, volume);
        const ReadAt read = [&](auto part, auto offset) { return input.read_at(part, offset); };
        result.found = deduplicate(read, options.settings, [&](auto part) { output.append(part); });
        output.sync();
        result.archive_bytes = output.size();
    }
    result.cpu = io::cpu_now() - used;
    result.end_s = io::now_s();
    result.counts = io::counts_of(volume);
    io::Volume unused;
    io::File archive(packed, O_RDONLY, unused);
    result.restored = hash_of_archive(archive, plan) == result.hash;
    // Chunks at both ends of a repeated segment differ from those of the original, so fewer
    // duplicate bytes are found than were generated. There are no other repetitions.
    const auto repeated = io::repeated_bytes(plan);
    result.plausible =
        result.found.duplicate_bytes <= repeated && result.found.duplicate_bytes >= repeated / 2;
    return result;
}

std::string_view wrong_of(const Result& whole) {
    if (!whole.restored) {
        return "an archive does not restore to the file that it was made of";
    }
    return whole.plausible ? "" : "other duplicates were found than the files have";
}

int run(const Arguments& arguments, const std::filesystem::path& folder) {
    const Options options = options_of(arguments);
    require_memory(memory_of(options));
    const io::SharedArray<Result> results(static_cast<std::size_t>(options.instances));
    const io::Barrier ready(options.instances);
    io::in_processes(kProgram, options.instances, stderr, [&](int number) {
        results[static_cast<std::size_t>(number)] = instance(options, number, folder, ready);
    });
    io::Outcome outcome;
    Result whole;
    whole.begin_s = results[0].begin_s;
    whole.restored = whole.plausible = true;
    for (const auto& one : results.span()) {
        whole.begin_s = std::min(whole.begin_s, one.begin_s);
        whole.end_s = std::max(whole.end_s, one.end_s);
        outcome.counts += one.counts;
        outcome.cpu += one.cpu;
        outcome.hash += one.hash;
        whole.archive_bytes += one.archive_bytes;
        whole.found.raw_bytes += one.found.raw_bytes;
        whole.found.chunks += one.found.chunks;
        whole.found.duplicates += one.found.duplicates;
        whole.found.duplicate_bytes += one.found.duplicate_bytes;
        whole.restored = whole.restored && one.restored;
        whole.plausible = whole.plausible && one.plausible;
    }
    outcome.duration_s = whole.end_s - whole.begin_s;
    const auto raw = static_cast<double>(whole.found.raw_bytes);
    JsonObject line;
    line.text("program", kProgram)
        .integer("instances", options.instances)
        .integer("threads", options.settings.threads)
        .integer("file_bytes", options.file_bytes)
        .integer("duplicate_percent", options.percent)
        .integer("level", options.settings.level)
        .boolean("cold", options.cold);
    const auto wrong = wrong_of(whole);
    if (wrong.empty()) {
        line.integer("chunks", whole.found.chunks)
            .integer("duplicates", whole.found.duplicates)
            .number("duplicate_share", static_cast<double>(whole.found.duplicate_bytes) / raw)
            .number("ratio", raw / static_cast<double>(whole.archive_bytes));
    }
    return io::print_outcome(line, outcome, wrong);
}

}  // namespace
}  // namespace aferir::dedup

int main(int count, char** values) {
    namespace dedup = aferir::dedup;
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::io::run_in_scratch(dedup::kProgram, dedup::kUsage, given, dedup::kNames,
                                      dedup::kFlags, dedup::run);
}
