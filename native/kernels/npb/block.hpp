#pragma once

#include <cstring>
#include <utility>

#include "common/simd.hpp"

namespace aferir::npb::AFERIR_ISA {

/// W neighbouring points. W may be less than the level's registers hold, where a grid is small.
template <int W>
struct BlockOf {
    // NOLINTNEXTLINE(modernize-use-using): only a typedef may have a dependent attribute in GCC 12
    typedef double Type __attribute__((vector_size(W * sizeof(double))));
};
template <int W>
// NOLINTNEXTLINE(readability-redundant-typename): clang 14 and GCC 12 still ask for it
using Block = typename BlockOf<W>::Type;

template <int W>
Block<W> load_block(const double* source) {
    Block<W> block;
    std::memcpy(&block, source, sizeof block);
    return block;
}

template <int W>
void store_block(double* target, Block<W> block) {
    std::memcpy(target, &block, sizeof block);
}

/// Selects from the 2 W points of `low` and `high` those at First, First + Step, ...
template <int First, int Step, int W, int... I>
Block<W> pick(Block<W> low, Block<W> high, std::integer_sequence<int, I...> /*places*/) {
    return shuffled<(First + Step * I)...>(low, high);
}

/// The W points that begin `First` after the begin of `low`, which `high` continues.
template <int First, int W>
Block<W> straddle(Block<W> low, Block<W> high) {
    return pick<First, 1, W>(low, high, std::make_integer_sequence<int, W>{});
}

}  // namespace aferir::npb::AFERIR_ISA
