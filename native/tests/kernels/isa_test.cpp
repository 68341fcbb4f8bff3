// Tests the code that is compiled for each instruction-set level, on all levels that this processor
// has.

#include "common/isa.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "probes.hpp"

namespace aferir::npb {
namespace {

Probes probes_of(std::string_view isa) {
#if defined(__x86_64__)
    if (isa == "v4") {
        return isa_v4::probes();
    }
    return isa == "v3" ? isa_v3::probes() : isa_v2::probes();
#else
    EXPECT_EQ(isa, "base");
    return isa_base::probes();
#endif
}

class Isa : public testing::TestWithParam<std::string_view> {
  protected:
    Probes probes = probes_of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, Isa, testing::ValuesIn(usable_isas()),
                         [](const auto& isa) { return std::string(isa.param); });

double ulp(double value) {
    return std::nextafter(std::abs(value), std::numeric_limits<double>::infinity()) -
           std::abs(value);
}

// Uniform numbers as in NPB's EP, numbers of any magnitude, and numbers near 1 and sqrt(2), where
// the logarithm's argument reduction changes.
std::vector<double> positive_numbers() {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    std::uniform_real_distribution<double> exponent(-300.0, 300.0);
    std::vector<double> numbers;
    for (int i = 0; i < 200'000; ++i) {
        numbers.push_back(1.0 - uniform(generator));
        numbers.push_back(std::exp2(exponent(generator)));
        numbers.push_back(1.0 + std::ldexp(uniform(generator) - 0.5, -(i % 52)));
        numbers.push_back(std::numbers::sqrt2 * (1.0 + std::ldexp(uniform(generator) - 0.5, -40)));
    }
    return numbers;
}

TEST_P(Isa, LogarithmIsWithinOneUlp) {
    const auto numbers = positive_numbers();
    std::vector<double> logarithms(numbers.size());
    probes.logarithm(numbers, logarithms);
    double worst = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto exact = std::log(static_cast<long double>(numbers[i]));
        const auto error = std::abs(static_cast<double>(logarithms[i] - exact));
        // log 1 is exactly 0, for which no unit in the last place is defined.
        const double unit = exact == 0 ? 1e-300 : ulp(static_cast<double>(exact));
        worst = std::max(worst, error / unit);
    }
    EXPECT_LT(worst, 1.0);
    EXPECT_GT(worst, 0.3) << "no double is better than half a unit in the worst case: is anything "
                             "compared at all?";
}

struct Sequences {
    std::vector<double> re;
    std::vector<double> im;
};

Sequences random_sequences(int length, int lanes) {
    std::mt19937_64 generator(static_cast<unsigned>(length));
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    Sequences sequences;
    for (int i = 0; i < length * lanes; ++i) {
        sequences.re.push_back(uniform(generator));
        sequences.im.push_back(uniform(generator));
    }
    return sequences;
}

// The DFT by its definition, in extended precision.
Sequences direct_dft(const Sequences& in, int length, int lanes, int sign) {
    Sequences out{std::vector<double>(in.re.size()), std::vector<double>(in.im.size())};
    std::vector<std::complex<long double>> roots;
    for (int k = 0; k < length; ++k) {
        roots.push_back(std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * k / length));
    }
    for (int k = 0; k < length; ++k) {
        for (int lane = 0; lane < lanes; ++lane) {
            long double re = 0;
            long double im = 0;
            for (int j = 0; j < length; ++j) {
                const auto root = roots[static_cast<std::size_t>(j * k % length)];
                const auto index = static_cast<std::size_t>(j * lanes + lane);
                re += in.re[index] * root.real() - in.im[index] * root.imag();
                im += in.re[index] * root.imag() + in.im[index] * root.real();
            }
            out.re[static_cast<std::size_t>(k * lanes + lane)] = static_cast<double>(re);
            out.im[static_cast<std::size_t>(k * lanes + lane)] = static_cast<double>(im);
        }
    }
    return out;
}

double largest_difference(const std::vector<double>& left, const std::vector<double>& right) {
    double largest = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        largest = std::max(largest, std::abs(left[i] - right[i]));
    }
    return largest;
}

TEST_P(Isa, FftIsTheDft) {
    for (const int length : {32, 64, 128, 256, 512, 1024, 2048}) {
        for (const bool inverse : {false, true}) {
            const auto in = random_sequences(length, probes.lanes);
            auto out = in;
            probes.fft(length, inverse, out.re, out.im);
            const auto exact = direct_dft(in, length, probes.lanes, inverse ? 1 : -1);
            const double bound = 1e-15 * std::sqrt(length) * std::log2(length);
            EXPECT_LT(largest_difference(out.re, exact.re), bound) << length;
            EXPECT_LT(largest_difference(out.im, exact.im), bound) << length;
        }
    }
}

TEST_P(Isa, FftThereAndBackIsTheSequenceTimesItsLength) {
    for (const int length : {32, 64, 128, 256, 512, 1024, 2048}) {
        const auto in = random_sequences(length, probes.lanes);
        auto out = in;
        probes.fft(length, false, out.re, out.im);
        probes.fft(length, true, out.re, out.im);
        for (auto* part : {&out.re, &out.im}) {
            std::for_each(part->begin(), part->end(), [&](double& value) { value /= length; });
        }
        EXPECT_LT(largest_difference(out.re, in.re), 2e-15) << length;
        EXPECT_LT(largest_difference(out.im, in.im), 2e-15) << length;
    }
}

TEST_P(Isa, TransposeExchangesTileAndLane) {
    const auto lanes = static_cast<std::size_t>(probes.lanes);
    std::vector<double> in(2 * lanes * lanes);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<double>(i);
    }
    std::vector<double> out(in.size());
    probes.transpose(in, out);
    for (std::size_t tile = 0; tile < lanes; ++tile) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            EXPECT_EQ(out[tile * 2 * lanes + lane], in[lane * 2 * lanes + tile]);
            EXPECT_EQ(out[tile * 2 * lanes + lanes + lane], in[lane * 2 * lanes + lanes + tile]);
        }
    }
}

}  // namespace
}  // namespace aferir::npb
