#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

namespace aferir::fuzzing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }

/// Aborts the program if a property does not hold: a fuzzer reports the abort with its input.
inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// Tests one input; defined by each fuzzer. Aborts if a property does not hold.
void check(std::span<const std::uint8_t> data);

/// Valid inputs, which are then changed at random; defined by each fuzzer.
std::vector<Bytes> examples();

}  // namespace aferir::fuzzing
