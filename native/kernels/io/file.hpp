#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "common/descriptor.hpp"

namespace aferir::io {

/// Volume that a program has read and written, by its own count; threads may share one.
struct Volume {
    std::atomic<std::uint64_t> read_bytes{0};
    std::atomic<std::uint64_t> written_bytes{0};
    std::atomic<std::uint64_t> reads{0};   ///< calls
    std::atomic<std::uint64_t> writes{0};  ///< calls
    std::atomic<std::uint64_t> syncs{0};   ///< fsync(2) calls
};

/// The counts of a Volume as plain numbers, which processes pass to one another.
struct Counts {
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t syncs = 0;

    Counts& operator+=(const Counts& other);

    /// Operations as defined in the study of I/O: 512 bytes that were read or written.
    [[nodiscard]] std::uint64_t operations() const;
};

Counts counts_of(const Volume& volume);

/// An open file. Each call reads or writes the whole span, or throws StorageError.
class File {
  public:
    /// Opens a file with `flags` of open(2), and creates it with permissions for its owner only.
    /// Counts into `volume`.
    File(std::filesystem::path path, int flags, Volume& volume);

    void write_at(std::span<const std::byte> data, std::uint64_t offset);
    /// Returns the bytes read: fewer than requested only at the end of the file.
    std::size_t read_at(std::span<std::byte> data, std::uint64_t offset);
    void append(std::span<const std::byte> data);
    void sync();
    /// Writes dirty pages to the device and evicts the file from the page cache.
    void forget_cache();
    [[nodiscard]] std::uint64_t size() const;
    [[nodiscard]] int descriptor() const { return descriptor_.number(); }

  private:
    std::filesystem::path path_;
    Descriptor descriptor_;
    std::uint64_t end_ = 0;
    Volume& volume_;
};

}  // namespace aferir::io
