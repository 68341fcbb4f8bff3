#include "dedup/chunker.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "io/hash.hpp"

namespace aferir::dedup {
namespace {

constexpr std::size_t kWindow = 64;  // a byte is shifted out of the hash after as many
constexpr unsigned kMeanBits = 13;   // of kMeanChunk
constexpr unsigned kBias = 2;        // of FastCDC's normalisation, level 2

// Mask of the hash's upper bits, which depend on all bytes of the window.
constexpr std::uint64_t upper_bits(unsigned bits) { return ~std::uint64_t{0} << (64U - bits); }

constexpr std::array<std::uint64_t, 256> make_gear() {
    std::array<std::uint64_t, 256> gear{};
    for (std::uint64_t byte = 0; byte < gear.size(); ++byte) {
        gear[byte] = io::mix(byte);
    }
    return gear;
}

constexpr auto kGear = make_gear();

std::uint64_t roll(std::uint64_t hash, std::byte next) {
    return (hash << 1U) + kGear[std::to_integer<std::size_t>(next)];
}

// First place from `from` to `to` after which `mask` makes a boundary; `to` if there is none.
std::size_t find(std::span<const std::byte> data, std::size_t from, std::size_t to,
                 std::uint64_t mask) {
    std::uint64_t hash = 0;
    for (auto at = from - std::min(from, kWindow); at < from; ++at) {
        hash = roll(hash, data[at]);
    }
    for (auto at = from; at < to; ++at) {
        hash = roll(hash, data[at]);
        if ((hash & mask) == 0) {
            return at + 1;
        }
    }
    return to;
}

}  // namespace

std::size_t chunk_bytes(std::span<const std::byte> data) {
    if (data.size() <= kLeastChunk) {
        return data.size();
    }
    const auto most = std::min(data.size(), kMostChunk);
    const auto mean = std::min(most, kMeanChunk);
    const auto early = find(data, kLeastChunk, mean, upper_bits(kMeanBits + kBias));
    return early < mean ? early : find(data, mean, most, upper_bits(kMeanBits - kBias));
}

std::size_t boundary_after(std::span<const std::byte> data, std::size_t from) {
    return from >= data.size() ? data.size() : find(data, from, data.size(), upper_bits(kMeanBits));
}

}  // namespace aferir::dedup
