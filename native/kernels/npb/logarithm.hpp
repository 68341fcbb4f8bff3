#pragma once

#include "common/simd.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Natural logarithm of positive, finite, normal numbers; error below 1 ulp (tests/kernels).
///
/// x = 2^e m with sqrt(1/2) <= m < sqrt(2). With f = m - 1 and s = f / (2 + f), log m =
/// 2 atanh(s) = f - (h - s (h + R(s^2))), h = f^2 / 2: in this form the rounding of s touches only
/// the small correction to the exact f (W. J. Cody and W. Waite, Software Manual for the Elementary
/// Functions, 1980, chapter 5, has the reduction). R is our minimax fit: 2.9e-18 from the truth.
inline Vector logarithm(Vector x) {
    constexpr std::uint64_t kOne = 0x3FF0000000000000;
    constexpr std::uint64_t kRootHalf = 0x3FE6A09E667F3BCD;
    constexpr std::uint64_t kFraction = 0x000FFFFFFFFFFFFF;
    constexpr std::uint64_t kTwo52 = 0x4330000000000000;
    constexpr double kLn2High = 0x1.62e42fefa0000p-1;  // e * this is exact
    constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;

    const Words shifted = as_words(x) + (kOne - kRootHalf);
    const Vector exponent = as_vector((shifted >> 52) | kTwo52) - (0x1p52 + 1023);
    const Vector f = as_vector((shifted & kFraction) + kRootHalf) - 1.0;
    const Vector s = f / (2.0 + f);
    const Vector z = s * s;
    const Vector z2 = z * z;
    const Vector low = (0x1.555555555557ep-1 + z * 0x1.9999999985514p-2) +
                       z2 * (0x1.2492493dd10b4p-2 + z * 0x1.c71c550172808p-3);
    const Vector high =
        (0x1.7465b189e0c38p-3 + z * 0x1.39aedb657497ap-3) + z2 * 0x1.2e8a134cadb00p-3;
    const Vector remainder = z * (low + z2 * z2 * high);
    const Vector half = 0.5 * f * f;
    const Vector correction = s * (half + remainder) + exponent * kLn2Low;
    return exponent * kLn2High - ((half - correction) - f);
}

}  // namespace aferir::npb::AFERIR_ISA
