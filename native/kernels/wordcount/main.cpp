// wordcount: map-reduce over memory-mapped files, after Metis (Boyd-Wickizer et al. 2010).

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <tuple>
#include <vector>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "common/storage.hpp"
#include "io/processes.hpp"
#include "io/report.hpp"
#include "io/scratch.hpp"
#include "io/tree.hpp"
#include "wordcount/map_reduce.hpp"

namespace aferir::wordcount {
namespace {

constexpr std::string_view kProgram = "wordcount";
constexpr std::string_view kUsage =
    "usage: wordcount [OPTIONS]\n"
    "Counts the terms of generated text files by map and reduce threads; prints one line of JSON.\n"
    "  --instances N    processes, each with a file of its own (1)\n"
    "  --maps N         map threads of each (2)\n"
    "  --reduces N      reduce threads of each (2)\n"
    "  --file-bytes N   size of each file (134217728)\n"
    "  --terms N        different terms of the text (100000)\n"
    "  --seed N         of the text (1)\n"
    "  --cold           the page cache holds nothing of the files at the start\n"
    "  --folder PATH    where files are made, and removed ($AFERIR_SCRATCH, else /var/tmp)\n"
    "exit code: 0 verified, 1 not, 2 wrong command line, 3 not enough memory, 4 disk full or a "
    "file\n"
    "cannot be used, 5 a process was killed";
constexpr std::array<std::string_view, 6> kNames{"--instances",  "--maps",  "--reduces",
                                                 "--file-bytes", "--terms", "--seed"};
constexpr std::array<std::string_view, 1> kFlags{"--cold"};
constexpr std::size_t kTermBytes = 96;  // of a slot in a table that is half full, and letters
constexpr std::size_t kBase = 16U << 20U;
constexpr std::size_t kLine = 1U << 16U;

struct Options {
    int instances;
    int maps;
    int reduces;
    std::uint64_t file_bytes;
    std::uint32_t terms;
    std::uint64_t seed;
    bool cold;
};

struct Result {
    io::Counts counts;
    double begin_s = 0;
    double end_s = 0;
    io::CpuTime cpu;
    std::uint64_t hash = 0;
    std::uint64_t terms = 0;
    std::uint64_t wrong = 0;
};

Options options_of(const Arguments& arguments) {
    return {
        .instances = static_cast<int>(arguments.integer("--instances", 1, 1, 1024)),
        .maps = static_cast<int>(arguments.integer("--maps", 2, 1, 1024)),
        .reduces = static_cast<int>(arguments.integer("--reduces", 2, 1, 1024)),
        .file_bytes = static_cast<std::uint64_t>(
            arguments.integer("--file-bytes", 128LL << 20U, 1024, 1LL << 45U)),
        .terms = static_cast<std::uint32_t>(arguments.integer("--terms", 100'000, 1, 1 << 24U)),
        .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 62U)),
        .cold = arguments.has("--cold"),
    };
}

// A file that is mapped to be read.
class Mapped {
  public:
    Mapped(const std::filesystem::path& path, io::Volume& volume)
        : file_(path, O_RDONLY, volume),
          bytes_(file_.size()),
          data_(mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_.descriptor(), 0)) {
        if (data_ == MAP_FAILED) {
            throw_storage_error("map", path, errno);
        }
    }
    ~Mapped() { munmap(data_, bytes_); }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    Mapped(Mapped&&) = delete;
    Mapped& operator=(Mapped&&) = delete;

    [[nodiscard]] std::string_view text() const { return {static_cast<char*>(data_), bytes_}; }

  private:
    io::File file_;
    std::size_t bytes_;
    void* data_;
};

// Terms in alphabetical order with their counts, one a line.
void write_result(const std::filesystem::path& path, const std::vector<io::TermCounter>& counted,
                  io::Volume& volume) {
    std::vector<std::pair<std::string_view, std::uint64_t>> all;
    for (const auto& table : counted) {
        table.for_each(
            [&](auto term, auto /*hash*/, auto times) { all.emplace_back(term, times); });
    }
    std::sort(all.begin(), all.end());
    io::File file(path, O_WRONLY | O_CREAT | O_EXCL, volume);
    std::string lines;
    for (const auto& [term, times] : all) {
        lines.append(term).append(" ").append(std::to_string(times)).append("\n");
        if (lines.size() > kLine) {
            file.append(std::as_bytes(std::span(lines)));
            lines.clear();
        }
    }
    file.append(std::as_bytes(std::span(lines)));
}

// Number of terms whose count differs from the generator's, including terms that only one of the
// two has.
std::uint64_t wrong_terms(const std::vector<io::TermCounter>& counted, const io::Vocabulary& known,
                          std::span<const io::TermTotal> totals) {
    std::vector<std::pair<std::string_view, std::uint64_t>> expected;
    for (std::uint32_t term = 0; term < known.size(); ++term) {
        if (totals[term].occurrences != 0) {
            expected.emplace_back(known.term(term), totals[term].occurrences);
        }
    }
    std::sort(expected.begin(), expected.end());
    std::uint64_t right = 0;
    std::uint64_t found = 0;
    for (const auto& table : counted) {
        found += table.size();
        table.for_each([&](auto term, auto /*hash*/, auto times) {
            right += std::binary_search(expected.begin(), expected.end(), std::pair(term, times));
        });
    }
    return std::max<std::uint64_t>(expected.size(), found) - right;
}

Result instance(const Options& options, int number, const std::filesystem::path& folder,
                const io::Barrier& ready) {
    const auto place = std::to_string(number);
    const auto path = folder / ("text-" + place);
    const io::TextSource source(options.seed, options.terms);
    std::vector<io::TermTotal> totals(options.terms);
    const auto first = static_cast<std::uint64_t>(number) << 40U;
    Result result;
    const auto written =
        io::write_text(path, source, first, options.file_bytes, totals, options.cold);
    result.hash = written.hash;
    io::Volume volume;
    ready.wait();
    result.begin_s = io::now_s();
    const auto used = io::cpu_now();
    const Mapped mapped(path, volume);
    const auto counted = count_terms(mapped.text(), options.maps, options.reduces);
    volume.read_bytes += mapped.text().size();
    write_result(folder / ("result-" + place), counted, volume);
    result.cpu = io::cpu_now() - used;
    result.end_s = io::now_s();
    result.counts = io::counts_of(volume);
    result.wrong = wrong_terms(counted, source.vocabulary(), totals);
    for (const auto& table : counted) {
        result.terms += table.size();
    }
    return result;
}

int run(const Arguments& arguments, const std::filesystem::path& folder) {
    const Options options = options_of(arguments);
    const auto tables =
        static_cast<std::size_t>(options.instances) * static_cast<std::size_t>(options.maps + 3);
    require_memory(kBase + tables * options.terms * kTermBytes);
    const io::SharedArray<Result> results(static_cast<std::size_t>(options.instances));
    const io::Barrier ready(options.instances);
    io::in_processes(kProgram, options.instances, stderr, [&](int number) {
        results[static_cast<std::size_t>(number)] = instance(options, number, folder, ready);
    });
    io::Outcome outcome;
    Result whole = results[0];
    for (const auto& one : results.span()) {
        whole.begin_s = std::min(whole.begin_s, one.begin_s);
        whole.end_s = std::max(whole.end_s, one.end_s);
        outcome.counts += one.counts;
        outcome.cpu += one.cpu;
        outcome.hash += one.hash;
        whole.wrong += &one == results.span().data() ? 0 : one.wrong;
        whole.terms = std::max(whole.terms, one.terms);
    }
    outcome.duration_s = whole.end_s - whole.begin_s;
    JsonObject line;
    line.text("program", kProgram)
        .integer("instances", options.instances)
        .integer("maps", options.maps)
        .integer("reduces", options.reduces)
        .integer("file_bytes", options.file_bytes)
        .integer("terms", whole.terms)
        .boolean("cold", options.cold);
    const std::string wrong =
        whole.wrong == 0 ? "" : std::to_string(whole.wrong) + " terms were counted wrongly";
    return io::print_outcome(line, outcome, wrong);
}

}  // namespace
}  // namespace aferir::wordcount

int main(int count, char** values) {
    namespace wordcount = aferir::wordcount;
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::io::run_in_scratch(wordcount::kProgram, wordcount::kUsage, given,
                                      wordcount::kNames, wordcount::kFlags, wordcount::run);
}
