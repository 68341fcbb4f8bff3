#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aferir::checkpoint {

/// Data of a place of the checkpoint: every 8 bytes tell their seed and place, so each byte can be
/// verified. `place` is a multiple of 8; so is the size of `data`.
void fill(std::span<std::byte> data, std::uint64_t seed, std::uint64_t place);

/// How many of the 8-byte words are not those of their place.
std::uint64_t wrong_words(std::span<const std::byte> data, std::uint64_t seed, std::uint64_t place);

/// Where the ranks' data are, as IOR has it: a file consists of segments, a segment of a block of
/// every rank (in a file for each process: of one), a block of transfers.
struct Layout {
    std::uint64_t processes = 1;
    std::uint64_t segments = 1;
    std::uint64_t block_bytes = 0;
    std::uint64_t transfer_bytes = 0;
    bool shared = true;

    [[nodiscard]] std::uint64_t transfers() const {
        return segments * (block_bytes / transfer_bytes);
    }
    /// Of the rank's transfer `number`, in its file.
    [[nodiscard]] std::uint64_t offset(std::uint64_t rank, std::uint64_t number) const;
    /// The same as a place that no other transfer has.
    [[nodiscard]] std::uint64_t place(std::uint64_t rank, std::uint64_t number) const;
};

}  // namespace aferir::checkpoint
