// checkpoint: writes and reads a checkpoint as an MPI application does, after IOR; this program
// uses processes and POSIX calls.

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "checkpoint/launch.hpp"
#include "checkpoint/request.hpp"
#include "common/storage.hpp"
#include "io/processes.hpp"
#include "io/scratch.hpp"

namespace aferir::checkpoint {
namespace {

class PosixChannel : public Channel {
  public:
    PosixChannel(const std::filesystem::path& path, int flags, io::Volume& volume)
        : path_(path), file_(path, flags, volume) {}

    void write_at(std::span<const std::byte> data, std::uint64_t offset) override {
        file_.write_at(data, offset);
    }
    void read_at(std::span<std::byte> data, std::uint64_t offset) override {
        if (file_.read_at(data, offset) != data.size()) {
            throw StorageError(path_.string() + " ends too early");
        }
    }
    void sync() override { file_.sync(); }

  private:
    std::filesystem::path path_;
    io::File file_;
};

struct OfRank {
    Result result;
    io::Counts counts;
};

OfRank work(const Options& options, std::uint64_t number, const std::filesystem::path& folder,
            const io::Barrier& barrier) {
    io::Volume volume;
    const auto path = [&](std::uint64_t owner) { return file_of(folder, options.layout, owner); };
    const Rank rank{
        .number = number,
        .barrier = [&] { barrier.wait(); },
        .open = [&](std::uint64_t owner, bool to_write) -> std::unique_ptr<Channel> {
            const int flags =
                (to_write ? O_WRONLY | O_CREAT : O_RDONLY) | (options.direct ? O_DIRECT : 0);
            return std::make_unique<PosixChannel>(path(owner), flags, volume);
        },
        .forget =
            [&](std::uint64_t owner) {
                io::Volume unused;
                io::File(path(owner), O_RDONLY, unused).forget_cache();
            },
    };
    const auto result = write_and_read(options, rank);
    return {result, io::counts_of(volume)};
}

int run(const Arguments& arguments, const std::filesystem::path& folder) {
    const Options options = options_of(arguments);
    require_memory_for(options);
    if (api_of(arguments) == Api::kMpiIo) {
        become_mpirun(arguments, folder);
    }
    const auto processes = options.layout.processes;
    const io::SharedArray<OfRank> ranks(processes);
    const io::Barrier barrier(static_cast<int>(processes));
    io::in_processes(kProgram, static_cast<int>(processes), stderr, [&](int rank) {
        const auto number = static_cast<std::size_t>(rank);
        ranks[number] = work(options, number, folder, barrier);
    });
    std::vector<Result> results;
    io::Counts counts;
    for (const auto& rank : ranks.span()) {
        results.push_back(rank.result);
        counts += rank.counts;
    }
    return print_results(options, "posix", results, counts);
}

}  // namespace
}  // namespace aferir::checkpoint

int main(int count, char** values) {
    namespace checkpoint = aferir::checkpoint;
    const std::vector<std::string_view> given(values + 1, values + count);
    return aferir::io::run_in_scratch(checkpoint::kProgram, checkpoint::kUsage, given,
                                      checkpoint::kNames, checkpoint::kFlags, checkpoint::run);
}
