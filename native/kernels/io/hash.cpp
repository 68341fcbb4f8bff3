#include "io/hash.hpp"

#include <cstring>
#include <ranges>

namespace aferir::io {

std::uint64_t hash_bytes(std::span<const std::byte> data, std::uint64_t seed) {
    std::uint64_t state = mix(seed ^ data.size());
    while (data.size() >= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data(), sizeof(word));
        state = mix(state ^ word);
        data = data.subspan(sizeof(word));
    }
    std::uint64_t word = 0;
    if (!data.empty()) {
        std::memcpy(&word, data.data(), data.size());
    }
    return mix(state ^ word);
}

std::string hexadecimal(std::uint64_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto& digit : std::views::reverse(text)) {
        digit = kDigits[value & 15U];
        value >>= 4U;
    }
    return text;
}

}  // namespace aferir::io
