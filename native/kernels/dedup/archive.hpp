#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

namespace aferir::dedup {

/// The archive is damaged, or the data is not an archive.
class ArchiveError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~ArchiveError() override;
};

using Bytes = std::vector<std::byte>;

/// zlib's deflate at `level` (1 to 9) of one chunk. Errors: std::bad_alloc.
Bytes compress(std::span<const std::byte> chunk, int level);

/// Writes an archive, in order: magic, then a record for each chunk, then an end record. A record
/// begins with one byte, its kind; numbers are little-endian. Kind 1, data: size of raw data (4
/// bytes), size of packed data (4), packed data. Kind 2, repetition: number of the earlier data
/// record with the same content (8). Kind 0, end: size of all raw data (8).
class ArchiveWriter {
  public:
    using Put = std::function<void(std::span<const std::byte>)>;

    explicit ArchiveWriter(Put put);

    /// Returns the record's number among the data records.
    std::uint64_t data(std::span<const std::byte> packed, std::uint32_t raw_bytes);
    void repeat(std::uint64_t number, std::uint32_t raw_bytes);
    void finish();

  private:
    void number(std::uint64_t value, unsigned bytes);
    void flush();

    Put put_;
    Bytes pending_;
    std::uint64_t records_ = 0;
    std::uint64_t raw_ = 0;
};

/// Reads at any place of an archive; returns fewer bytes than requested only at its end.
using ReadAt = std::function<std::size_t(std::span<std::byte>, std::uint64_t)>;

/// Passes the content of an archive to `take`, chunk by chunk, in order. Returns its size in bytes.
/// Errors: ArchiveError unless it is a whole archive.
std::uint64_t restore(const ReadAt& read, const ArchiveWriter::Put& take);

}  // namespace aferir::dedup
