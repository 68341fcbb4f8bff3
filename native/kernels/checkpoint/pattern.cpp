#include "checkpoint/pattern.hpp"

#include <cstring>

#include "io/hash.hpp"

namespace aferir::checkpoint {
namespace {

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;  // no two words of 2^64 are alike
constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t first_word(std::uint64_t seed, std::uint64_t place) {
    return io::mix(seed) + place / kWord * kOdd;
}

}  // namespace

void fill(std::span<std::byte> data, std::uint64_t seed, std::uint64_t place) {
    auto word = first_word(seed, place);
    for (std::size_t at = 0; at < data.size(); at += kWord, word += kOdd) {
        std::memcpy(&data[at], &word, kWord);
    }
}

std::uint64_t wrong_words(std::span<const std::byte> data, std::uint64_t seed,
                          std::uint64_t place) {
    auto word = first_word(seed, place);
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < data.size(); at += kWord, word += kOdd) {
        std::uint64_t found = 0;
        std::memcpy(&found, &data[at], kWord);
        wrong += found != word;
    }
    return wrong;
}

std::uint64_t Layout::offset(std::uint64_t rank, std::uint64_t number) const {
    const auto in_block = block_bytes / transfer_bytes;
    const auto segment = number / in_block;
    const auto block = shared ? segment * processes + rank : segment;
    return block * block_bytes + number % in_block * transfer_bytes;
}

std::uint64_t Layout::place(std::uint64_t rank, std::uint64_t number) const {
    return shared ? offset(rank, number) : rank * segments * block_bytes + offset(rank, number);
}

}  // namespace aferir::checkpoint
