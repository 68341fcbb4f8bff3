#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aferir {

/// Content of every stream: a pseudo-random block of prime length, repeated, so that a shift, a
/// loss or a repetition of whole segments is detected.
class Pattern {
  public:
    /// Largest number of bytes that `at` returns.
    static constexpr std::size_t kChunk = 1 << 16;

    Pattern();

    /// Up to `kChunk` bytes of a stream from `offset` on.
    [[nodiscard]] std::span<const std::byte> at(std::uint64_t offset) const;

    /// Whether `data` (at most `kChunk` bytes) is the content of a stream from `offset` on.
    [[nodiscard]] bool matches(std::span<const std::byte> data, std::uint64_t offset) const;

  private:
    std::vector<std::byte> block_;
};

}  // namespace aferir
