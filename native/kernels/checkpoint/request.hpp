#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "checkpoint/phases.hpp"
#include "common/arguments.hpp"
#include "io/file.hpp"

namespace aferir::checkpoint {

constexpr std::string_view kProgram = "checkpoint";
constexpr std::string_view kUsage =
    "usage: checkpoint [OPTIONS]\n"
    "Writes a checkpoint, reads it back and verifies every byte; prints one line of JSON.\n"
    "  --processes N        that write, each its own part (2)\n"
    "  --segments N         parts of each process in a file (4)\n"
    "  --block-bytes N      size of each part (16777216)\n"
    "  --transfer-bytes N   written or read at a time; divides a block, a multiple of 8 (1048576)\n"
    "  --files shared|each  one file, or one for each process (shared)\n"
    "  --api posix|mpiio    (posix)\n"
    "  --mpi openmpi|mpich  whose MPI-IO (openmpi)\n"
    "  --collective         MPI-IO: all processes call together\n"
    "  --direct             past the page cache, O_DIRECT (posix)\n"
    "  --no-sync            without fsync at the end of writing\n"
    "  --cold               the page cache holds nothing of it when reading begins\n"
    "  --seed N             of the data (1)\n"
    "  --folder PATH        where files are made, and removed ($AFERIR_SCRATCH, else /var/tmp)\n"
    "exit code: 0 verified, 1 not, 2 wrong command line, 3 not enough memory, 4 disk full or a "
    "file\n"
    "cannot be used, 5 a process was killed";
constexpr std::array<std::string_view, 8> kNames{
    "--processes", "--segments", "--block-bytes", "--transfer-bytes",
    "--files",     "--api",      "--mpi",         "--seed"};
constexpr std::array<std::string_view, 4> kFlags{"--collective", "--direct", "--no-sync", "--cold"};

enum class Api { kPosix, kMpiIo };

/// Reads the options. Errors: UsageError if they do not go together.
Options options_of(const Arguments& arguments);
Api api_of(const Arguments& arguments);
/// "openmpi" or "mpich". Errors: UsageError.
std::string_view mpi_of(const Arguments& arguments);

/// Checks the memory. Errors: OutOfMemory if the processes would not fit.
void require_memory_for(const Options& options);

/// The file of a rank's data.
std::filesystem::path file_of(const std::filesystem::path& folder, const Layout& layout,
                              std::uint64_t owner);

/// Prints the outcome of all ranks. Returns the exit code.
int print_results(const Options& options, std::string_view api, std::span<const Result> results,
                  const io::Counts& counts);

}  // namespace aferir::checkpoint
