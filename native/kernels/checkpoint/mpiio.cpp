// checkpoint-mpiio-<mpi>: writes and reads a checkpoint as `checkpoint` does, but by MPI-IO.
// Started by checkpoint, which creates the folder.

#include <fcntl.h>
#include <mpi.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/request.hpp"
#include "common/mpi_abort.hpp"
#include "common/mpi_finalize.hpp"
#include "common/program.hpp"
#include "common/storage.hpp"

namespace aferir::checkpoint {
namespace {

struct OfRank {
    Result result;
    io::Counts counts;
};

class MpiChannel : public Channel {
  public:
    MpiChannel(std::filesystem::path path, bool to_write, const Options& options,
               io::Counts& counts)
        : path_(std::move(path)), collective_(options.collective), counts_(counts) {
        const int mode = to_write ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY;
        const MPI_Comm ranks = options.layout.shared ? MPI_COMM_WORLD : MPI_COMM_SELF;
        must(MPI_File_open(ranks, path_.c_str(), mode, MPI_INFO_NULL, &file_), "open");
    }
    ~MpiChannel() override { MPI_File_close(&file_); }
    MpiChannel(const MpiChannel&) = delete;
    MpiChannel& operator=(const MpiChannel&) = delete;
    MpiChannel(MpiChannel&&) = delete;
    MpiChannel& operator=(MpiChannel&&) = delete;

    void write_at(std::span<const std::byte> data, std::uint64_t offset) override {
        const auto call = collective_ ? MPI_File_write_at_all : MPI_File_write_at;
        MPI_Status status;
        must(call(file_, static_cast<MPI_Offset>(offset), data.data(),
                  static_cast<int>(data.size()), MPI_BYTE, &status),
             "write");
        counts_.writes += 1;
        counts_.written_bytes += all_of(status, data.size(), "write");
    }

    void read_at(std::span<std::byte> data, std::uint64_t offset) override {
        const auto call = collective_ ? MPI_File_read_at_all : MPI_File_read_at;
        MPI_Status status;
        must(call(file_, static_cast<MPI_Offset>(offset), data.data(),
                  static_cast<int>(data.size()), MPI_BYTE, &status),
             "read");
        counts_.reads += 1;
        counts_.read_bytes += all_of(status, data.size(), "read");
    }

    void sync() override {
        must(MPI_File_sync(file_), "write");
        counts_.syncs += 1;
    }

  private:
    // MPI libraries report a full disk in different ways, so the file system is asked instead.
    [[noreturn]] void fail(std::string_view doing, const std::string& why) const {
        struct statvfs system{};
        if (doing == "write" && statvfs(path_.parent_path().c_str(), &system) == 0 &&
            system.f_bavail == 0) {
            throw_storage_error(doing, path_, ENOSPC);
        }
        throw StorageError("cannot " + std::string(doing) + " " + path_.string() + ": " + why);
    }

    void must(int code, std::string_view doing) const {
        if (code != MPI_SUCCESS) {
            std::array<char, MPI_MAX_ERROR_STRING> text{};
            int length = 0;
            MPI_Error_string(code, text.data(), &length);
            fail(doing, text.data());
        }
    }

    [[nodiscard]] std::uint64_t all_of(const MPI_Status& status, std::size_t bytes,
                                       std::string_view doing) const {
        int done = 0;
        MPI_Get_count(&status, MPI_BYTE, &done);
        if (static_cast<std::size_t>(done) != bytes) {
            fail(doing, std::to_string(done) + " bytes of " + std::to_string(bytes));
        }
        return bytes;
    }

    std::filesystem::path path_;
    bool collective_;
    io::Counts& counts_;
    MPI_File file_ = MPI_FILE_NULL;
};

OfRank work(const Options& options, int number, const std::filesystem::path& folder) {
    OfRank all;
    const auto path = [&](std::uint64_t owner) { return file_of(folder, options.layout, owner); };
    const Rank rank{
        .number = static_cast<std::uint64_t>(number),
        .barrier = [] { MPI_Barrier(MPI_COMM_WORLD); },
        .open = [&](std::uint64_t owner, bool to_write) -> std::unique_ptr<Channel> {
            return std::make_unique<MpiChannel>(path(owner), to_write, options, all.counts);
        },
        .forget =
            [&](std::uint64_t owner) {
                io::Volume unused;
                io::File(path(owner), O_RDONLY, unused).forget_cache();
            },
    };
    all.result = write_and_read(options, rank);
    return all;
}

int run(const Arguments& arguments) {
    int rank = 0;
    int processes = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (arguments.has("--help")) {
        if (rank == 0) {
            print_line(stdout, kUsage);
        }
        return kVerified;
    }
    Options options = options_of(arguments);
    options.layout.processes = static_cast<std::uint64_t>(processes);
    const auto own = work(options, rank, std::string(arguments.value("--folder").value_or(".")));
    std::vector<OfRank> ranks(rank == 0 ? static_cast<std::size_t>(processes) : 1);
    MPI_Gather(&own, sizeof(own), MPI_BYTE, ranks.data(), sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank != 0) {
        return kVerified;
    }
    std::vector<Result> results;
    io::Counts counts;
    for (const auto& one : ranks) {
        results.push_back(one.result);
        counts += one.counts;
    }
    return print_results(options, "mpiio", results, counts);
}

}  // namespace
}  // namespace aferir::checkpoint

int main(int count, char** values) {
    namespace checkpoint = aferir::checkpoint;
    MPI_Init(&count, &values);
    const std::vector<std::string_view> given(values + 1, values + count);
    const int code = aferir::run_program(checkpoint::kProgram, stderr, [&] {
        std::vector<std::string_view> names(checkpoint::kNames.begin(), checkpoint::kNames.end());
        names.emplace_back("--folder");
        std::vector<std::string_view> flags(checkpoint::kFlags.begin(), checkpoint::kFlags.end());
        flags.emplace_back("--help");
        return checkpoint::run(aferir::Arguments(given, names, flags));
    });
    if (code != aferir::kVerified && code != aferir::kUnverified) {
        aferir::abort_ranks(code);  // the other ranks wait for this one
    }
    aferir::finalize_ranks(code);
    return code;
}
