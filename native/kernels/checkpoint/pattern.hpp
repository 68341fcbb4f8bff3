#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aferir::checkpoint {

/// Fills `data` for a place in the checkpoint: every 8 bytes encode their seed and place, so that
/// each byte can be verified. `place` is a multiple of 8; so is the size of `data`.
void fill(std::span<std::byte> data, std::uint64_t seed, std::uint64_t place);

/// Number of 8-byte words that do not belong at their place.
std::uint64_t wrong_words(std::span<const std::byte> data, std::uint64_t seed, std::uint64_t place);

/// Layout of the ranks' data, as in IOR: a file consists of segments, a segment of a block of every
/// rank (in a file for each process: of one), a block of transfers.
struct Layout {
    std::uint64_t processes = 1;
    std::uint64_t segments = 1;
    std::uint64_t block_bytes = 0;
    std::uint64_t transfer_bytes = 0;
    bool shared = true;

    [[nodiscard]] std::uint64_t transfers() const {
        return segments * (block_bytes / transfer_bytes);
    }
    /// Offset of the rank's transfer `number` in its file.
    [[nodiscard]] std::uint64_t offset(std::uint64_t rank, std::uint64_t number) const;
    /// Number of that transfer which no other one has.
    [[nodiscard]] std::uint64_t place(std::uint64_t rank, std::uint64_t number) const;
};

}  // namespace aferir::checkpoint
