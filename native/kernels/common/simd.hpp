#pragma once

// Vectors as wide as the instruction-set level has registers, in the language extension that GCC
// and clang share. Everything is inside the level's own namespace.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/intrinsics.hpp"

namespace aferir::inline AFERIR_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

inline constexpr std::ptrdiff_t kLanes = kVectorBytes / 8;

using Vector = double __attribute__((vector_size(kVectorBytes)));
using Words = std::uint64_t __attribute__((vector_size(kVectorBytes)));
using Mask = std::int64_t __attribute__((vector_size(kVectorBytes)));  ///< a lane is 0 or -1

inline Vector broadcast(double value) { return value - Vector{}; }

inline Vector load(const double* source) {
    Vector vector;
    std::memcpy(&vector, source, sizeof vector);
    return vector;
}

inline void store(double* target, Vector vector) { std::memcpy(target, &vector, sizeof vector); }

inline Vector as_vector(Words words) { return std::bit_cast<Vector>(words); }
inline Words as_words(Vector vector) { return std::bit_cast<Words>(vector); }

inline Vector square_root(Vector value) {
#if defined(__AVX512F__)
    // Zero-masking, no lane masked: the plain form makes GCC 12 warn of an undefined register.
    return _mm512_maskz_sqrt_pd(0xFF, value);
#elif defined(__AVX2__)
    return _mm256_sqrt_pd(value);
#elif defined(__SSE2__)
    return _mm_sqrt_pd(value);
#else
    Vector root;
    for (int lane = 0; lane < kLanes; ++lane) {
        root[lane] = std::sqrt(value[lane]);
    }
    return root;
#endif
}

inline Vector magnitude(Vector value) {
    return as_vector(as_words(value) & ~(Words{} + (1ULL << 63U)));
}

inline Vector larger(Vector left, Vector right) { return left > right ? left : right; }

inline bool any(Mask mask) {
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask(std::bit_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_pd(std::bit_cast<__m256d>(mask)) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_pd(std::bit_cast<__m128d>(mask)) != 0;
#else
    std::int64_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        bits |= mask[lane];
    }
    return bits != 0;
#endif
}

template <typename Lanes>
auto sum(Lanes vector) {
    auto total = vector[0];
    for (int lane = 1; lane < kLanes; ++lane) {
        total += vector[lane];
    }
    return total;
}

/// Calls body with the constants 0, 1, ..., Count - 1.
template <int Count, typename Body>
[[gnu::always_inline]] inline void unroll(Body body) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        (body(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, Count>{});
}

/// The lanes of `low` and then `high` whose numbers are `Lane`, in that order.
template <int... Lane, typename Lanes>
[[gnu::always_inline]] inline Lanes shuffled(Lanes low, Lanes high) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(low, high, Lane...);
#else  // GCC 11 takes the numbers as a vector only
    using Numbers __attribute__((vector_size(sizeof(Lanes)))) = std::int64_t;
    return __builtin_shuffle(low, high, Numbers{Lane...});
#endif
}

/// One step of transpose(): lanes whose index has the bit `Width` change places between a and b.
template <int Width, int... Lane>
[[gnu::always_inline]] inline void exchange_lanes(Vector& a, Vector& b,
                                                  std::integer_sequence<int, Lane...> /*lanes*/) {
    const Vector low =
        shuffled<((Lane & Width) == 0 ? Lane : int{kLanes} + (Lane ^ Width))...>(a, b);
    const Vector high =
        shuffled<((Lane & Width) == 0 ? (Lane ^ Width) : int{kLanes} + Lane)...>(a, b);
    a = low;
    b = high;
}

/// Transposes a square of kLanes vectors, beginning with its squares of `Width`.
template <int Width = 1>
[[gnu::always_inline]] inline void transpose(std::array<Vector, kLanes>& square) {
    if constexpr (Width < kLanes) {
        unroll<kLanes>([&](auto index) __attribute__((always_inline)) {
            constexpr int i = index;
            if constexpr ((i & Width) == 0) {
                exchange_lanes<Width>(square[i], square[i + Width],
                                      std::make_integer_sequence<int, kLanes>{});
            }
        });
        transpose<2 * Width>(square);
    }
}

}  // namespace aferir::inline AFERIR_ISA
