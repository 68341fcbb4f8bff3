#include "probes.hpp"

#include <utility>
#include <vector>

#include "npb/fft.hpp"
#include "npb/logarithm.hpp"

namespace aferir::npb::AFERIR_ISA {
namespace {

void probe_logarithm(std::span<const double> in, std::span<double> out) {
    for (std::size_t i = 0; i < in.size(); i += kLanes) {
        store(out.data() + i, logarithm(load(in.data() + i)));
    }
}

template <int Length>
void transform(bool inverse, std::span<double> re, std::span<double> im) {
    if (inverse) {
        std::swap(re, im);
    }
    const auto offset = [](int i) { return static_cast<std::size_t>(i) * kLanes; };
    const std::vector<double> old_re(re.begin(), re.end());
    const std::vector<double> old_im(im.begin(), im.end());
    fft<Length>(
        twiddles(Length),
        [&](int i) {
            return Complex{load(old_re.data() + offset(i)), load(old_im.data() + offset(i))};
        },
        [&](int i, const Complex& value) {
            store(re.data() + offset(i), value.re);
            store(im.data() + offset(i), value.im);
        });
}

void probe_fft(int length, bool inverse, std::span<double> re, std::span<double> im) {
    switch (length) {
        case 32:
            return transform<32>(inverse, re, im);
        case 64:
            return transform<64>(inverse, re, im);
        case 128:
            return transform<128>(inverse, re, im);
        case 256:
            return transform<256>(inverse, re, im);
        case 512:
            return transform<512>(inverse, re, im);
        case 1024:
            return transform<1024>(inverse, re, im);
        default:
            return transform<2048>(inverse, re, im);
    }
}

void probe_transpose(std::span<const double> in, std::span<double> out) {
    transpose_tiles(in.data(), out.data());
}

}  // namespace

Probes probes() { return {kLanes, probe_logarithm, probe_fft, probe_transpose}; }

}  // namespace aferir::npb::AFERIR_ISA
