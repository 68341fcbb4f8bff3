#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aferir {

/// The bytes of every stream: a pseudo-random block of prime length, over and over, so that a
/// shift, a loss or a repetition of whole segments shows.
class Pattern {
  public:
    /// Most bytes that `at` gives at once.
    static constexpr std::size_t kChunk = 1 << 16;

    Pattern();

    /// Up to `kChunk` bytes that a stream has from `offset` on.
    [[nodiscard]] std::span<const std::byte> at(std::uint64_t offset) const;

    /// Whether `data` (at most `kChunk` bytes) is what a stream has from `offset` on.
    [[nodiscard]] bool matches(std::span<const std::byte> data, std::uint64_t offset) const;

  private:
    std::vector<std::byte> block_;
};

}  // namespace aferir
