#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace aferir::network {

/// Fills `data` with bytes that depend on place and seed, so that data which is lost, moved or left
/// from an earlier trial is recognised as wrong.
void fill_pattern(std::span<std::byte> data, std::uint64_t seed);

/// First place whose content differs from what `fill_pattern` wrote; nothing if all is right.
std::optional<std::size_t> first_difference(std::span<const std::byte> data, std::uint64_t seed);

}  // namespace aferir::network
