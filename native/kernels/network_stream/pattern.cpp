#include "network_stream/pattern.hpp"

#include <cstring>

namespace aferir {
namespace {

constexpr std::size_t kPeriod = 65'521;  // the largest prime below 2^16

}  // namespace

Pattern::Pattern() : block_(kPeriod + kChunk) {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kPeriod; ++i) {
        state = state * 1'664'525U + 1'013'904'223U;  // Numerical Recipes' generator
        block_[i] = static_cast<std::byte>(state >> 24U);
    }
    for (std::size_t i = kPeriod; i < block_.size(); ++i) {
        block_[i] = block_[i - kPeriod];
    }
}

std::span<const std::byte> Pattern::at(std::uint64_t offset) const {
    return std::span(block_).subspan(offset % kPeriod, kChunk);
}

bool Pattern::matches(std::span<const std::byte> data, std::uint64_t offset) const {
    return data.size() <= kChunk && std::memcmp(data.data(), at(offset).data(), data.size()) == 0;
}

}  // namespace aferir
