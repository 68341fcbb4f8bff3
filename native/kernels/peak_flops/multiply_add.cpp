// Compiled for each instruction-set level. Runs independent chains of x * factor + summand, each in
// a register: enough to hide the latency of a fused multiply-add (4 cycles, two units).

#include "peak_flops/multiply_add.hpp"

#include <array>
#include <cstddef>

#include "common/simd.hpp"

namespace aferir::peak::AFERIR_ISA {

std::size_t multiply_add(double* values, long steps, double factor, double summand) {
    constexpr std::ptrdiff_t kChains = 12;
    static_assert(kChains * kLanes <= static_cast<std::ptrdiff_t>(kMostValues));
    const Vector multiplier = broadcast(factor);
    const Vector added = broadcast(summand);
    std::array<Vector, kChains> chains;
#pragma GCC unroll 12
    for (std::size_t chain = 0; chain < kChains; ++chain) {
        chains[chain] = load(values + static_cast<std::ptrdiff_t>(chain) * kLanes);
    }
    for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 12
        for (auto& chain : chains) {
            chain = chain * multiplier + added;
        }
    }
#pragma GCC unroll 12
    for (std::size_t chain = 0; chain < kChains; ++chain) {
        store(values + static_cast<std::ptrdiff_t>(chain) * kLanes, chains[chain]);
    }
    return static_cast<std::size_t>(kChains * kLanes);
}

}  // namespace aferir::peak::AFERIR_ISA
