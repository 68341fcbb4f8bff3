#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aferir::checkpoint {

/// Fills `data` for a place in the checkpoint: every 8 bytes encode their seed and place, so that
/// each byte can be verified. `place` is a multiple of 8; so is the size of `data`.
void fill(std::span<std::byte> data, std::uint64_t seed, std::uint64_t place);

/// Number of 8-byte words that differ from those that fill() writes for this place.
std::uint64_t wrong_words(std::span<const std::byte> data, std::uint64_t seed, std::uint64_t place);

/// Layout of the ranks' data, as in IOR. A file is a sequence of segments; a segment has one block
/// of each rank (or of the file's only rank); a block is a sequence of transfers.
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
    /// Offset of the transfer in the checkpoint as a whole, which no other transfer has, even if
    /// each rank has its own file.
    [[nodiscard]] std::uint64_t place(std::uint64_t rank, std::uint64_t number) const;
};

}  // namespace aferir::checkpoint
