#include "checkpoint/phases.hpp"

#include <memory>
#include <vector>

#include "io/processes.hpp"

namespace aferir::checkpoint {
namespace {

constexpr std::size_t kAlignment = 4096;  // of what O_DIRECT takes on any device

// Memory for a transfer, aligned.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes) : memory_(bytes + kAlignment) {
        void* start = memory_.data();
        std::size_t space = memory_.size();
        data_ = {static_cast<std::byte*>(std::align(kAlignment, bytes, start, space)), bytes};
    }

    [[nodiscard]] std::span<std::byte> data() const { return data_; }

  private:
    std::vector<std::byte> memory_;
    std::span<std::byte> data_;
};

}  // namespace

Result write_and_read(const Options& options, const Rank& rank) {
    const auto& layout = options.layout;
    const Buffer buffer(layout.transfer_bytes);
    Result result;
    rank.barrier();
    result.write_begin_s = io::now_s();
    const auto at_write = io::cpu_now();
    {
        const auto channel = rank.open(rank.number, true);
        for (std::uint64_t number = 0; number < layout.transfers(); ++number) {
            fill(buffer.data(), options.seed, layout.place(rank.number, number));
            channel->write_at(buffer.data(), layout.offset(rank.number, number));
        }
        if (options.sync) {
            channel->sync();
        }
    }
    result.write_end_s = io::now_s();
    result.cpu = io::cpu_now() - at_write;
    if (options.cold) {
        rank.forget(rank.number);
    }
    rank.barrier();
    // Reads another rank's data (IOR's -C), which on a cluster is not in this node's cache.
    const auto next = (rank.number + 1) % layout.processes;
    result.read_begin_s = io::now_s();
    const auto at_read = io::cpu_now();
    const auto channel = rank.open(next, false);
    for (std::uint64_t number = 0; number < layout.transfers(); ++number) {
        channel->read_at(buffer.data(), layout.offset(next, number));
        result.wrong_words += wrong_words(buffer.data(), options.seed, layout.place(next, number));
    }
    result.read_end_s = io::now_s();
    result.cpu += io::cpu_now() - at_read;
    return result;
}

}  // namespace aferir::checkpoint
