#pragma once

// One-dimensional FFTs of kLanes sequences at once, lane by lane: no element ever crosses lanes,
// so the vector code is the textbook's scalar one. Numbers live in tiles of kLanes real parts
// followed by kLanes imaginary parts.

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "common/simd.hpp"

namespace aferir::npb::AFERIR_ISA {

inline constexpr std::size_t kTile = std::size_t{2} * kLanes;  ///< doubles in a tile
inline constexpr int kLongestFft = 2048;

struct Complex {
    Vector re;
    Vector im;
};

inline Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }

/// Where a tile has its real and its imaginary parts. The inverse transform is the forward one of
/// numbers with both exchanged.
struct Parts {
    std::ptrdiff_t re;
    std::ptrdiff_t im;
};

inline constexpr Parts kForward{0, kLanes};
inline constexpr Parts kInverse{kLanes, 0};

inline Complex load_tile(const double* tile, Parts parts = kForward) {
    return {load(tile + parts.re), load(tile + parts.im)};
}

inline void store_tile(double* tile, const Complex& value, Parts parts = kForward) {
    store(tile + parts.re, value.re);
    store(tile + parts.im, value.im);
}

/// cos(2 pi k / 32) for k = 0 ... 8.
inline constexpr std::array<double, 9> kCosines{1.0,
                                                0.98078528040323044913,
                                                0.92387953251128675613,
                                                0.83146961230254523708,
                                                0.70710678118654752440,
                                                0.55557023301960222474,
                                                0.38268343236508977173,
                                                0.19509032201612826785,
                                                0.0};

/// value * exp(-2 pi i Index / 32)
template <int Index>
[[gnu::always_inline]] inline Complex rotate(const Complex& v) {
    if constexpr (Index >= 8) {
        const Complex turned = rotate<Index - 8>(v);
        return {turned.im, -turned.re};
    } else if constexpr (Index == 0) {
        return v;
    } else if constexpr (Index == 4) {
        return {kCosines[4] * (v.re + v.im), kCosines[4] * (v.im - v.re)};
    } else {
        constexpr double kCosine = kCosines[Index];
        constexpr double kSine = kCosines[8 - Index];
        return {kCosine * v.re + kSine * v.im, kCosine * v.im - kSine * v.re};
    }
}

template <int Radix>
using Row = std::array<Complex, Radix>;

/// DFT of `Radix` numbers, `Stride` apart in `in`, in natural order: decimation in time by four.
template <int Radix, int Stride, std::size_t Size>
[[gnu::always_inline]] inline Row<Radix> dft(const std::array<Complex, Size>& in, int first = 0) {
    const auto at = [&](int index) __attribute__((always_inline)) -> const Complex& {
        return in[static_cast<std::size_t>(first + index * Stride)];
    };
    Row<Radix> out;
    if constexpr (Radix == 2) {
        out[0] = at(0) + at(1);
        out[1] = at(0) - at(1);
    } else if constexpr (Radix == 1) {
        out[0] = at(0);
    } else {
        constexpr int kQuarter = Radix / 4;
        const auto a = dft<kQuarter, 4 * Stride>(in, first);
        const auto b = dft<kQuarter, 4 * Stride>(in, first + Stride);
        const auto c = dft<kQuarter, 4 * Stride>(in, first + 2 * Stride);
        const auto d = dft<kQuarter, 4 * Stride>(in, first + 3 * Stride);
        unroll<kQuarter>([&](auto index) __attribute__((always_inline)) {
            constexpr int k = index;
            constexpr int kStep = 32 / Radix;
            const Complex& p = a[k];
            const Complex q = rotate<kStep * k>(b[k]);
            const Complex r = rotate<kStep * 2 * k>(c[k]);
            const Complex s = rotate<kStep * 3 * k>(d[k]);
            const Complex even_sum = p + r;
            const Complex even_difference = p - r;
            const Complex odd_sum = q + s;
            const Complex odd_difference = rotate<8>(q - s);
            out[k] = even_sum + odd_sum;
            out[k + kQuarter] = even_difference + odd_difference;
            out[k + 2 * kQuarter] = even_sum - odd_sum;
            out[k + 3 * kQuarter] = even_difference - odd_difference;
        });
    }
    return out;
}

/// Lengths are split in two factors, each small enough for one unrolled DFT; 64 is split again.
constexpr int first_radix(int length) {
    switch (length) {
        case 32:
            return 4;
        case 64:
        case 128:
            return 8;
        case 256:
        case 512:
        case 1024:
            return 16;
        default:
            return 32;
    }
}

struct Twiddle {
    double re;
    double im;
};

/// exp(-2 pi i j k / length) in the order in which the first half uses them, k fastest.
inline std::vector<Twiddle> twiddles(int length) {
    const int radix = first_radix(length);
    std::vector<Twiddle> table;
    table.reserve(static_cast<std::size_t>(length));
    for (int j = 0; j < length / radix; ++j) {
        for (int k = 0; k < radix; ++k) {
            const double angle = -2 * std::numbers::pi * j * k / length;
            table.push_back({std::cos(angle), std::sin(angle)});
        }
    }
    return table;
}

/// Compiled as one function, called by the longest problems only.
template <int Radix>
[[gnu::noinline]] Row<Radix> long_dft(const Row<Radix>& in);

template <int Radix>
[[gnu::always_inline]] inline Row<Radix> whole_dft(const Row<Radix>& in) {
    if constexpr (Radix > 32) {
        return long_dft<Radix>(in);
    } else {
        return dft<Radix, 1>(in);
    }
}

/// Calls body(0), body(1), ...: unrolled if the numbers may stay in registers.
template <int Count, typename Body>
[[gnu::always_inline]] inline void each(Body body) {
    if constexpr (Count > 32) {
        for (int i = 0; i < Count; ++i) {
            body(i);
        }
    } else {
        unroll<Count>(body);
    }
}

/// Unscaled forward FFT of `Length` tiles. `source(i)` gives tile i, `sink(i, tile)` takes it; all
/// are read before the first is written, so both may be the same place.
template <int Length, typename Source, typename Sink>
inline void fft(const std::vector<Twiddle>& table, Source source, Sink sink) {
    constexpr int kFirst = first_radix(Length);
    constexpr int kSecond = Length / kFirst;
    constexpr int kPitch = kSecond + 1;  // a power of two would crowd a few cache sets
    std::array<Complex, static_cast<std::size_t>(kFirst) * kPitch> middle;
    const Twiddle* twiddle = table.data();
    for (int j = 0; j < kSecond; ++j, twiddle += kFirst) {
        Row<kFirst> in;
        unroll<kFirst>([&](auto i)
                           __attribute__((always_inline)) { in[i] = source(i * kSecond + j); });
        const auto out = dft<kFirst, 1>(in);
        unroll<kFirst>([&](auto k) __attribute__((always_inline)) {
            const double re = twiddle[k].re;
            const double im = twiddle[k].im;
            middle[static_cast<std::size_t>(k * kPitch + j)] = {re * out[k].re - im * out[k].im,
                                                                re * out[k].im + im * out[k].re};
        });
    }
    for (int k = 0; k < kFirst; ++k) {
        Row<kSecond> in;
        each<kSecond>([&](auto j) __attribute__((always_inline)) {
            in[static_cast<std::size_t>(j)] = middle[static_cast<std::size_t>(k * kPitch + j)];
        });
        const auto out = whole_dft<kSecond>(in);
        each<kSecond>([&](auto i) __attribute__((always_inline)) {
            sink(k + kFirst * i, out[static_cast<std::size_t>(i)]);
        });
    }
}

template <int Radix>
[[gnu::noinline]] Row<Radix> long_dft(const Row<Radix>& in) {
    static const auto table = twiddles(Radix);
    Row<Radix> out;
    fft<Radix>(
        table, [&](int i) { return in[static_cast<std::size_t>(i)]; },
        [&](int i, const Complex& value) { out[static_cast<std::size_t>(i)] = value; });
    return out;
}

/// Transposes a square of kLanes tiles, lane against tile.
inline void transpose_tiles(const double* source, double* target) {
    for (std::size_t part = 0; part < kTile; part += kLanes) {
        std::array<Vector, kLanes> square;
        unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
            square[i] = load(source + i * kTile + part);
        });
        transpose(square);
        unroll<kLanes>([&](auto i) __attribute__((always_inline)) {
            store(target + i * kTile + part, square[i]);
        });
    }
}

}  // namespace aferir::npb::AFERIR_ISA
