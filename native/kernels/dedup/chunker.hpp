#pragma once

#include <cstddef>
#include <span>

namespace aferir::dedup {

constexpr std::size_t kLeastChunk = 2U << 10U;
constexpr std::size_t kMeanChunk = 8U << 10U;
constexpr std::size_t kMostChunk = 32U << 10U;

/// Size in bytes of the first chunk of `data`: to the first boundary after kLeastChunk, at most
/// kMostChunk. A gear hash of the last 64 bytes determines boundaries, with a stricter mask below
/// the mean size than above (FastCDC: Xia et al. 2016). So a change of the content moves only the
/// boundaries near it.
std::size_t chunk_bytes(std::span<const std::byte> data);

/// First boundary in `data` at or after byte `from` that the content alone determines, wherever the
/// chunk before it began; the size of `data` if there is none.
std::size_t boundary_after(std::span<const std::byte> data, std::size_t from);

}  // namespace aferir::dedup
