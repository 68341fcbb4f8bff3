#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace aferir::dedup {

using Digest = std::array<unsigned char, 32>;

/// SHA-256 (FIPS 180-4), by libcrypto.
Digest sha256(std::span<const std::byte> data);

}  // namespace aferir::dedup
