#pragma once

#include <cstdint>
#include <span>

namespace aferir::npb {

// The generator of RNR-94-007, section 2.3: x' = a x mod 2^46, result x' 2^-46. Unsigned 64-bit
// arithmetic wraps at 2^64, a multiple of 2^46, so a masked product is exact.
inline constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
inline constexpr std::uint64_t kModulusMask = (std::uint64_t{1} << 46U) - 1;
inline constexpr double kUnit = 1.0 / static_cast<double>(std::uint64_t{1} << 46U);

/// One step: advances `seed` and returns a number in (0, 1).
constexpr double randlc(std::uint64_t& seed, std::uint64_t multiplier = kMultiplier) {
    seed = (seed * multiplier) & kModulusMask;
    return static_cast<double>(seed) * kUnit;
}

/// Fills `numbers`, as that many calls of randlc would.
constexpr void vranlc(std::uint64_t& seed, std::uint64_t multiplier, std::span<double> numbers) {
    for (double& number : numbers) {
        number = randlc(seed, multiplier);
    }
}

/// multiplier^exponent mod 2^46: the multiplier that takes `exponent` steps at once.
constexpr std::uint64_t lcg_power(std::uint64_t multiplier, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1U) {
        if ((exponent & 1U) != 0) {
            result = (result * multiplier) & kModulusMask;
        }
        multiplier = (multiplier * multiplier) & kModulusMask;
    }
    return result;
}

/// The seed after `steps` steps.
constexpr std::uint64_t lcg_skip(std::uint64_t seed, std::uint64_t steps,
                                 std::uint64_t multiplier = kMultiplier) {
    return (seed * lcg_power(multiplier, steps)) & kModulusMask;
}

}  // namespace aferir::npb
