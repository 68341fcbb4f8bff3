#pragma once

#include <cstddef>
#include <span>

namespace aferir::dedup {

constexpr std::size_t kLeastChunk = 2U << 10U;
constexpr std::size_t kMeanChunk = 8U << 10U;
constexpr std::size_t kMostChunk = 32U << 10U;

/// Bytes of the first chunk of `data`: up to the first place, from kLeastChunk on, that its content
/// makes a boundary, at most kMostChunk. A gear hash of the last 64 bytes decides, with a stricter
/// mask below the mean size than above (FastCDC: Xia et al. 2016). So a change of the content moves
/// the boundaries near it alone.
std::size_t chunk_bytes(std::span<const std::byte> data);

/// The first boundary that content makes in `data` from byte `from` on, as above but without
/// regard to where the last one was; all of `data` where there is none.
std::size_t boundary_after(std::span<const std::byte> data, std::size_t from);

}  // namespace aferir::dedup
