// index: each process collects the terms of a file tree in hash tables and flushes them to Berkeley
// DB; after Psearchy's pedsort (Boyd-Wickizer et al. 2010).

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/arguments.hpp"
#include "common/memory.hpp"
#include "index/store.hpp"
#include "index/term_table.hpp"
#include "io/counter.hpp"
#include "io/hash.hpp"
#include "io/processes.hpp"
#include "io/report.hpp"
#include "io/scratch.hpp"
#include "io/tree.hpp"

namespace aferir::index {
namespace {

constexpr std::string_view kProgram = "index";
constexpr std::string_view kUsage =
    "usage: index [OPTIONS]\n"
    "Indexes the terms of a generated tree of text files; prints one line of JSON.\n"
    "  --processes N    that share the tree, each with a table and a store of its own (2)\n"
    "  --tree-bytes N   size of the tree (67108864)\n"
    "  --table-bytes N  memory of each table, which is flushed when it is full (8388608)\n"
    "  --cache-bytes N  of Berkeley DB's cache of pages in each process (33554432)\n"
    "  --terms N        different terms of the text (100000)\n"
    "  --seed N         of the text (1)\n"
    "  --cold           the page cache holds nothing of the tree at the start\n"
    "  --folder PATH    where files are made, and removed ($AFERIR_SCRATCH, else /var/tmp)\n"
    "exit code: 0 verified, 1 not, 2 wrong command line, 3 not enough memory, 4 disk full or a "
    "file\n"
    "cannot be used, 5 a process was killed";
constexpr std::array<std::string_view, 6> kNames{"--processes",   "--tree-bytes", "--table-bytes",
                                                 "--cache-bytes", "--terms",      "--seed"};
constexpr std::array<std::string_view, 1> kFlags{"--cold"};
constexpr std::size_t kProcess = 8U << 20U;
constexpr std::size_t kTermBytes = 128;  // what is expected, what is found, spelling and drawing

struct Options {
    int processes;
    std::uint64_t tree_bytes;
    std::uint64_t table_bytes;
    std::uint64_t cache_bytes;
    std::uint32_t terms;
    std::uint64_t seed;
    bool cold;
};

struct Result {
    io::Counts counts;
    io::Written written;
    double begin_s = 0;
    double end_s = 0;
    io::CpuTime cpu;
    std::uint64_t flushes = 0;
};

// State that all processes share.
struct Shared {
    Options options;
    std::filesystem::path folder;
    std::vector<std::uint32_t> sizes;
    io::SharedArray<io::TermTotal> totals;
    io::SharedArray<std::atomic<std::uint64_t>> next;
    io::Barrier ready;
};

Options options_of(const Arguments& arguments) {
    constexpr auto kLeastCache = 1LL << 18U;
    return {
        .processes = static_cast<int>(arguments.integer("--processes", 2, 1, 1024)),
        .tree_bytes = static_cast<std::uint64_t>(
            arguments.integer("--tree-bytes", 64LL << 20U, 1024, 1LL << 45U)),
        .table_bytes = static_cast<std::uint64_t>(
            arguments.integer("--table-bytes", 8LL << 20U, TermTable::kLeastBytes, 16LL << 30U)),
        .cache_bytes = static_cast<std::uint64_t>(
            arguments.integer("--cache-bytes", 32LL << 20U, kLeastCache, 1LL << 40U)),
        .terms = static_cast<std::uint32_t>(arguments.integer("--terms", 100'000, 1, 1 << 24U)),
        .seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, 1LL << 62U)),
        .cold = arguments.has("--cold"),
    };
}

std::filesystem::path store_path(const std::filesystem::path& folder, int process) {
    return folder / ("index-" + std::to_string(process) + ".db");
}

// Indexes the documents of one process, one by one.
class Indexer {
  public:
    Indexer(const Options& options, const std::filesystem::path& store)
        : table_(options.table_bytes), store_(store, options.cache_bytes) {}

    void add(const std::filesystem::path& path, std::uint64_t document) {
        {
            io::File file(path, O_RDONLY, volume_);
            text_.resize(file.size());
            text_.resize(file.read_at(std::as_writable_bytes(std::span(text_)), 0));
        }
        counter_.clear();
        io::for_each_term(text_, [&](auto term) { counter_.add(term, io::hash_text(term)); });
        const auto number = static_cast<std::uint32_t>(document);
        counter_.for_each([&](auto term, auto hash, auto times) {
            const Posting posting{number, static_cast<std::uint32_t>(times)};
            if (!table_.add(term, hash, posting)) {
                flush();
                table_.add(term, hash, posting);
            }
        });
    }

    Result finish() {
        flush();
        Result result;
        result.counts = io::counts_of(volume_);
        result.counts += store_.sync();
        result.flushes = flushes_;
        return result;
    }

  private:
    void flush() {
        table_.flush([&](auto term, auto postings) { store_.put(term, postings); });
        flushes_ += 1;
    }

    io::Volume volume_;
    TermTable table_;
    Store store_;
    io::TermCounter counter_;
    std::string text_;
    std::uint64_t flushes_ = 0;
};

Result work(const Shared& shared, const io::TextSource& source, int process) {
    const auto& options = shared.options;
    const auto written = io::write_documents(
        shared.folder / "tree", source, shared.sizes, static_cast<std::size_t>(process),
        static_cast<std::size_t>(options.processes), shared.totals.span(), options.cold);
    shared.ready.wait();
    const double begin_s = io::now_s();
    const auto used = io::cpu_now();
    Indexer indexer(options, store_path(shared.folder, process));
    auto& next = shared.next[0];
    for (auto document = next++; document < shared.sizes.size(); document = next++) {
        indexer.add(io::document_path(shared.folder / "tree", document), document);
    }
    auto result = indexer.finish();
    result.cpu = io::cpu_now() - used;
    result.begin_s = begin_s;
    result.end_s = io::now_s();
    result.written = written;
    return result;
}

// Number of terms whose postings in all stores together differ from those that the generator drew.
std::uint64_t wrong_terms(const Shared& shared, const io::Vocabulary& vocabulary) {
    std::unordered_map<std::string_view, std::uint32_t> numbers;
    for (std::uint32_t term = 0; term < vocabulary.size(); ++term) {
        numbers.emplace(vocabulary.term(term), term);
    }
    std::uint64_t wrong = 0;
    std::vector<io::TermTotal> found(vocabulary.size());
    for (int process = 0; process < shared.options.processes; ++process) {
        Store store(store_path(shared.folder, process), shared.options.cache_bytes);
        store.for_each([&](auto term, auto postings) {
            const auto number = numbers.find(term);
            if (number == numbers.end()) {
                wrong += 1;
                return;
            }
            auto& total = found[number->second];
            for (const auto& posting : postings) {
                total.documents += 1;
                total.occurrences += posting.occurrences;
                total.signature += io::signature_of(posting.document, posting.occurrences);
            }
        });
    }
    for (std::uint32_t term = 0; term < vocabulary.size(); ++term) {
        wrong += found[term] != shared.totals[term];
    }
    return wrong;
}

std::uint64_t postings_of(const Shared& shared) {
    std::uint64_t postings = 0;
    for (const auto& total : shared.totals.span()) {
        postings += total.documents;
    }
    return postings;
}

int run(const Arguments& arguments, const std::filesystem::path& folder) {
    const Options options = options_of(arguments);
    const auto processes = static_cast<std::size_t>(options.processes);
    require_memory(processes * (options.table_bytes + options.cache_bytes + kProcess) +
                   options.terms * kTermBytes);
    const Shared shared{options,
                        folder,
                        io::document_sizes(options.seed, options.tree_bytes),
                        io::SharedArray<io::TermTotal>(options.terms),
                        io::SharedArray<std::atomic<std::uint64_t>>(1),
                        io::Barrier(options.processes)};
    const io::TextSource source(options.seed, options.terms);
    const io::SharedArray<Result> results(processes);
    io::in_processes(kProgram, options.processes, stderr, [&](int process) {
        results[static_cast<std::size_t>(process)] = work(shared, source, process);
    });
    io::Outcome outcome;
    Result whole = results[0];
    for (const auto& one : results.span()) {
        whole.begin_s = std::min(whole.begin_s, one.begin_s);
        whole.end_s = std::max(whole.end_s, one.end_s);
        outcome.counts += one.counts;
        outcome.cpu += one.cpu;
        outcome.hash += one.written.hash;
        whole.flushes += &one == results.span().data() ? 0 : one.flushes;
    }
    outcome.duration_s = whole.end_s - whole.begin_s;
    const auto wrong = wrong_terms(shared, source.vocabulary());
    JsonObject line;
    line.text("program", kProgram)
        .integer("processes", options.processes)
        .integer("tree_bytes", options.tree_bytes)
        .integer("table_bytes", options.table_bytes)
        .boolean("cold", options.cold);
    if (wrong == 0) {
        line.integer("documents", shared.sizes.size())
            .integer("postings", postings_of(shared))
            .integer("flushes", whole.flushes);
    }
    return io::print_outcome(
        line, outcome, wrong == 0 ? "" : std::to_string(wrong) + " terms have other postings");
}

}  // namespace
}  // namespace aferir::index

int main(int count, char** values) {
    namespace index = aferir::index;
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::io::run_in_scratch(index::kProgram, index::kUsage, given, index::kNames,
                                      index::kFlags, index::run);
}
