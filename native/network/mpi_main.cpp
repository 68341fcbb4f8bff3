// net-sweep-mpi: latency and throughput by size of messages, between ranks of an MPI job.

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "common/mpi_abort.hpp"
#include "common/mpi_finalize.hpp"
#include "common/program.hpp"
#include "network/mpi_transport.hpp"
#include "network/options.hpp"

namespace aferir::network {
namespace {

constexpr std::string_view kProgram = "net-sweep-mpi";
constexpr std::string_view kUsage =
    "usage: mpirun -n 2 net-sweep-mpi [OPTIONS]    two ranks for each pair\n"
    "Exchanges messages of rising size over MPI; rank 0 prints one line of JSON.\n";
constexpr std::string_view kHelp =
    "  --clock none         no one-way delays\n"
    "exit code: 0 measured, 1 data came out wrong, 2 wrong command line, 3 not enough memory,\n"
    "           4 the clock or the job failed";
constexpr std::array<std::string_view, 1> kFlags{"--help"};

// Whether one-way delays are wanted.
bool one_way(const Arguments& arguments) {
    const auto clock = arguments.value("--clock").value_or("");
    if (!clock.empty() && clock != "none") {
        throw UsageError("--clock is '" + std::string(clock) +
                         "'; over MPI give none, or leave it out");
    }
    return clock.empty();
}

int measure(const SweepOptions& options, bool with_delays, int rank) {
    const auto start = std::chrono::steady_clock::now();
    MpiTransport transport(options.pairs, room_bytes(options), with_delays);
    if (rank != 0) {
        transport.follow();
        return kVerified;
    }
    const auto sizes = sweep(transport, options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_line(stdout, result_line(JsonObject()
                                       .text("program", kProgram)
                                       .text("transport", "mpi")
                                       .text("mpi", AFERIR_MPI_NAME)
                                       .text("clock", transport.clock()),
                                   options, sizes, elapsed.count()));
    return kVerified;
}

int run(const Arguments& arguments, int rank) {
    if (arguments.has("--help")) {
        if (rank == 0) {
            print_line(stdout, std::string(kUsage) + std::string(kSweepHelp) + std::string(kHelp));
        }
        return kVerified;
    }
    return measure(sweep_options(arguments), one_way(arguments), rank);
}

}  // namespace
}  // namespace aferir::network

int main(int count, char** values) {
    namespace own = aferir::network;
    MPI_Init(&count, &values);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::vector<std::string_view> given(values + 1, values + count);
    std::vector<std::string_view> names(own::kSweepNames.begin(), own::kSweepNames.end());
    names.emplace_back("--clock");
    const int code = own::run_sweep_program(own::kProgram, [&] {
        return own::run(aferir::Arguments(given, names, own::kFlags), rank);
    });
    // All ranks have been told of wrong data; any other failure may be known to one rank only,
    // which ends the others.
    if (code > aferir::kUnverified) {
        aferir::abort_ranks(code);
    }
    aferir::finalize_ranks(code);
    return code;
}
