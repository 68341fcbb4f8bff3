#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace aferir::network {

/// Bytes that differ from place to place and from seed to seed, so that data which is lost, moved
/// or left over from before does not look right.
void fill_pattern(std::span<std::byte> data, std::uint64_t seed);

/// The first place that does not hold what `fill_pattern` wrote; none when all is right.
std::optional<std::size_t> first_difference(std::span<const std::byte> data, std::uint64_t seed);

}  // namespace aferir::network
