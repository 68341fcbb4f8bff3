#pragma once

#include <span>
#include <vector>

namespace aferir::npb {

/// Functions of the kernels that are compiled for one instruction-set level, made accessible to
/// tests.
struct Probes {
    int lanes;
    /// out[i] = log(in[i]); the size must be a multiple of lanes.
    void (*logarithm)(std::span<const double> in, std::span<double> out);
    /// Transforms `lanes` sequences in place: element i of sequence s is at [i * lanes + s].
    /// Lengths are 32, 64, 128, 256 and 512.
    void (*fft)(int length, bool inverse, std::span<double> re, std::span<double> im);
    /// Transposes one square of lanes x lanes tiles (2 * lanes doubles each).
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
