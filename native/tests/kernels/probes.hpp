#pragma once

#include <span>
#include <vector>

namespace aferir::npb {

/// Parts of the kernels that are inside one instruction-set level, opened for the tests.
struct Probes {
    int lanes;
    /// out[i] = log(in[i]); the size must be a multiple of lanes.
    void (*logarithm)(std::span<const double> in, std::span<double> out);
    /// In place, on `lanes` sequences at once: sequence s has its element i at [i * lanes + s].
    /// Lengths 32, 64, 128, 256, 512.
    void (*fft)(int length, bool inverse, std::span<double> re, std::span<double> im);
    /// One square of lanes x lanes tiles (2 * lanes doubles each).
    void (*transpose)(std::span<const double> in, std::span<double> out);
};

#if defined(__x86_64__)
namespace isa_v2 {
Probes probes();
}
namespace isa_v3 {
Probes probes();
}
namespace isa_v4 {
Probes probes();
}
#else
namespace isa_base {
Probes probes();
}
#endif

}  // namespace aferir::npb
