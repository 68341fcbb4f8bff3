#include "npb_mpi/driver.hpp"

#include <omp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/program.hpp"
#include "npb/driver.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb {
namespace {

constexpr long long kMostMates = 1 << 20;

std::string help(std::string_view program, std::string_view mpi) {
    return "usage: mpirun." + std::string(mpi) + " -n N " + std::string(program) + "-" +
           std::string(mpi) +
           " --class S|W|A|B|C|D [--isa LEVEL] [--share-among N]\n"
           "Runs one NAS Parallel Benchmark by message passing, verifies it, and prints one line "
           "of JSON.\n"
           "  --class  problem class of NPB 3\n"
           "  --isa    instruction-set level (default: the best that this processor has)\n"
           "  --share-among  how many ranks of a host share memory instead of sending messages to "
           "one another (default: 1, none)\n"
           "exit code: 0 verified, 1 not verified, 2 wrong command line or number of processes, "
           "3 not enough memory";
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

int run_kernel(std::string_view program, std::string_view mpi, std::span<const MpiVariant> variants,
               const Arguments& arguments, Ranks& ranks) {
    const auto problem = read_class(arguments);
    const auto& variant = choose_variant(variants, arguments.value("--isa"));
    const auto most = static_cast<int>(arguments.integer("--share-among", 1, 1, kMostMates));
    ranks.share_memory(most);
    omp_set_dynamic(0);
    omp_set_num_threads(1);  // problems are made by code that the OpenMP kernels share
    auto outcome = variant.run(problem, ranks);
    outcome.seconds = ranks.largest(outcome.seconds);
    if (ranks.id() == 0) {
        JsonObject json;
        json.text("program", program)
            .text("class", std::string(1, letter(problem)))
            .integer("processes", ranks.count())
            .integer("hosts", static_cast<std::int64_t>(ranks.hosts().members.size()))
            .integer("share_among", most)
            .text("mpi", mpi)
            .text("isa", variant.isa);
        print_line(stdout, add_outcome(json, outcome).str());
    }
    return outcome.verified ? kVerified : kUnverified;
}

int drive_rank(std::string_view program, std::string_view mpi, std::span<const MpiVariant> variants,
               std::span<const std::string_view> given, Ranks& ranks) {
    static constexpr std::array<std::string_view, 3> kNames{"--class", "--isa", "--share-among"};
    static constexpr std::array<std::string_view, 1> kFlags{"--help"};
    // An error in the command line is the same for all ranks, and reported once.
    const std::unique_ptr<std::FILE, CloseFile> silence(std::fopen("/dev/null", "w"));
    auto* const err = ranks.id() == 0 || silence == nullptr ? stderr : silence.get();
    const auto tell = [&](const std::string& why) {  // of memory: not for all ranks alike
        const auto rank = ": rank " + std::to_string(ranks.id()) + ": ";
        print_line(stderr, std::string(program) + rank + why);
        return static_cast<int>(kNoMemory);
    };
    const int code = run_program(program, err, [&] {
        const Arguments arguments(given, kNames, kFlags);
        if (arguments.has("--help")) {
            if (ranks.id() == 0) {
                print_line(stdout, help(program, mpi));
            }
            return static_cast<int>(kVerified);
        }
        try {
            return run_kernel(program, mpi, variants, arguments, ranks);
        } catch (const OutOfMemory& error) {
            return tell(error.what());
        } catch (const std::bad_alloc&) {
            return tell("not enough memory; choose a smaller problem or raise the limit");
        }
    });
    if (code == kNoMemory) {
        Ranks::abort(code);  // other ranks may have enough memory, and would wait for this one
    }
    return code;
}

}  // namespace

int drive_mpi(const char* program, const char* mpi, std::span<const MpiVariant> variants, int count,
              char** values) {
    const std::vector<std::string_view> given(values + 1, values + count);
    Ranks ranks;
    return ranks.exiting_with(drive_rank(program, mpi, variants, given, ranks));
}

}  // namespace aferir::npb
