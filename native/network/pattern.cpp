#include "network/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace aferir::network {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), of place and seed.
std::uint64_t word_at(std::size_t index, std::uint64_t seed) {
    std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15U ^ seed;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace

void fill_pattern(std::span<std::byte> data, std::uint64_t seed) {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
        const auto word = word_at(at / kWord, seed);
        std::memcpy(data.data() + at, &word, std::min(kWord, data.size() - at));
    }
}

std::optional<std::size_t> first_difference(std::span<const std::byte> data, std::uint64_t seed) {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
        const auto word = word_at(at / kWord, seed);
        const auto size = std::min(kWord, data.size() - at);
        if (std::memcmp(data.data() + at, &word, size) != 0) {
            const auto* expected = reinterpret_cast<const std::byte*>(&word);
            for (std::size_t i = 0; i < size; ++i) {
                if (data[at + i] != expected[i]) {
                    return at + i;
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace aferir::network
