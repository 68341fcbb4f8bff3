#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aferir::io {

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): every bit depends on every other.
constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15ULL;
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31U);
}

/// Random numbers of one stream, chosen by a seed and a number; streams can be drawn independently.
class Random {
  public:
    constexpr Random(std::uint64_t seed, std::uint64_t stream)
        : state_(mix(mix(seed) ^ mix(~stream))) {}

    constexpr std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15ULL;
        return mix(state_);
    }

    /// Number from 0 to `bound` - 1 (Lemire 2019, without the rejection: the bias is below 2^-32).
    constexpr std::uint64_t below(std::uint32_t bound) { return ((next() >> 32U) * bound) >> 32U; }

  private:
    std::uint64_t state_;
};

/// A 64-bit hash, enough to distinguish data sets by accident, not against an adversary.
std::uint64_t hash_bytes(std::span<const std::byte> data, std::uint64_t seed = 0);

inline std::uint64_t hash_text(std::string_view text) {
    return hash_bytes(std::as_bytes(std::span(text)));
}

/// 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t value);

}  // namespace aferir::io
