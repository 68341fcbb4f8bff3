#include "lbm/roofline.hpp"

#include <algorithm>
#include <cstddef>

#include "common/memory.hpp"
#include "memory_bandwidth/cache.hpp"

namespace aferir::lbm {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 20U;
constexpr int kRounds = 7;

void scale(double* values, std::size_t count, int threads) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
        values[i] *= 1.0000001;
    }
}

}  // namespace

Roofline measure_roofline(int threads, const World& world) {
    const auto ranks = static_cast<std::size_t>(world.count());
    const auto bytes = std::max(kLeastBytes, 4 * last_level_cache_bytes("/")) / ranks / 4096 * 4096;
    require_memory(bytes);
    const HugeArray<double> values(bytes / sizeof(double));
    scale(values.data(), values.size(), threads);
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
        world.wait();
        const double start = world.seconds();
        scale(values.data(), values.size(), threads);
        const double seconds = world.largest(world.seconds() - start);
        best = std::max(best, 2 * static_cast<double>(bytes * ranks) / seconds);
    }
    return {best};
}

}  // namespace aferir::lbm
