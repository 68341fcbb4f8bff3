#pragma once

#include <cstddef>

namespace aferir::peak {

inline constexpr std::size_t kMostValues = 96;

/// Replaces each of the first values by value * factor + summand, `steps` times. Returns their
/// number: as many as the level's registers hold, at most `kMostValues`.
using MultiplyAdd = std::size_t(double* values, long steps, double factor, double summand);

#if defined(__x86_64__)
namespace isa_v2 {
MultiplyAdd multiply_add;
}
namespace isa_v3 {
MultiplyAdd multiply_add;
}
namespace isa_v4 {
MultiplyAdd multiply_add;
}
#else
namespace isa_base {
MultiplyAdd multiply_add;
}
#endif

}  // namespace aferir::peak
