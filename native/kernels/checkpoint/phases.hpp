#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "checkpoint/pattern.hpp"
#include "io/cpu.hpp"
#include "io/file.hpp"

namespace aferir::checkpoint {

struct Options {
    Layout layout;
    std::uint64_t seed = 1;
    bool direct = false;      ///< bypasses the page cache (open(2), O_DIRECT)
    bool sync = true;         ///< fsync before the end of the write phase
    bool cold = false;        ///< evicted from the page cache before it is read
    bool collective = false;  ///< MPI-IO: all ranks together
};

/// A file that one rank has open. Errors: StorageError.
class Channel {
  public:
    Channel() = default;
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    Channel(Channel&&) = delete;
    Channel& operator=(Channel&&) = delete;

    virtual void write_at(std::span<const std::byte> data, std::uint64_t offset) = 0;
    /// Reading fewer bytes than requested is an error.
    virtual void read_at(std::span<std::byte> data, std::uint64_t offset) = 0;
    virtual void sync() = 0;
};

/// Access of one rank to files and to the other ranks.
struct Rank {
    std::uint64_t number = 0;
    std::function<void()> barrier;
    /// Opens the file of rank `owner`: the same file for every owner if the ranks share one.
    std::function<std::unique_ptr<Channel>(std::uint64_t owner, bool to_write)> open;
    /// Evicts the file of rank `owner` from the page cache.
    std::function<void(std::uint64_t owner)> forget;
};

/// Results of one rank; times in seconds of a clock that all ranks share.
struct Result {
    double write_begin_s = 0;
    double write_end_s = 0;
    double read_begin_s = 0;
    double read_end_s = 0;
    io::CpuTime cpu;  ///< of both phases
    std::uint64_t wrong_words = 0;
};

/// Writes the rank's data, then reads the next rank's data and verifies every byte.
Result write_and_read(const Options& options, const Rank& rank);

}  // namespace aferir::checkpoint
