#include "memory_bandwidth/operations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aferir {
namespace {

// For each operation: the scalar value of element i, from which the vector form below is written.
void run_regular(Operation operation, const Slices& slices) {
    double* const a = slices.a.data();
    double* const b = slices.b.data();
    double* const c = slices.c.data();
    const auto size = slices.a.size();
    switch (operation) {
        case Operation::kCopy:
#pragma omp simd
            for (std::size_t i = 0; i < size; ++i) {
                c[i] = a[i];
            }
            break;
        case Operation::kScale:
#pragma omp simd
            for (std::size_t i = 0; i < size; ++i) {
                b[i] = kScalar * c[i];
            }
            break;
        case Operation::kAdd:
#pragma omp simd
            for (std::size_t i = 0; i < size; ++i) {
                c[i] = a[i] + b[i];
            }
            break;
        case Operation::kTriad:
#pragma omp simd
            for (std::size_t i = 0; i < size; ++i) {
                a[i] = b[i] + kScalar * c[i];
            }
            break;
    }
}

#if defined(__SSE2__)

// Streams to target, past the caches, the pairs of elements that value(i) returns for every second
// i. Works in whole cache lines, so that no write-combining buffer is evicted half filled.
template <typename Value>
void stream(std::span<double> target, Value value) {
    constexpr std::size_t kLine = 8;
    std::size_t i = 0;
    for (; i + kLine <= target.size(); i += kLine) {
        for (std::size_t part = 0; part < kLine; part += 2) {
            _mm_stream_pd(target.data() + i + part, value(i + part));
        }
    }
    for (; i < target.size(); ++i) {
        target[i] = _mm_cvtsd_f64(value(i));
    }
    _mm_sfence();
}

void run_streaming(Operation operation, const Slices& slices) {
    const double* const a = slices.a.data();
    const double* const b = slices.b.data();
    const double* const c = slices.c.data();
    const __m128d scalar = _mm_set1_pd(kScalar);
    switch (operation) {
        case Operation::kCopy:
            return stream(slices.c, [=](std::size_t i) { return _mm_loadu_pd(a + i); });
        case Operation::kScale:
            return stream(slices.b,
                          [=](std::size_t i) { return _mm_mul_pd(scalar, _mm_loadu_pd(c + i)); });
        case Operation::kAdd:
            return stream(slices.c, [=](std::size_t i) {
                return _mm_add_pd(_mm_loadu_pd(a + i), _mm_loadu_pd(b + i));
            });
        case Operation::kTriad:
            return stream(slices.a, [=](std::size_t i) {
                return _mm_add_pd(_mm_loadu_pd(b + i), _mm_mul_pd(scalar, _mm_loadu_pd(c + i)));
            });
    }
}

#endif

double error_of(std::span<const double> values, double expected) {
    double largest = 0;
    for (const double value : values) {
        if (!std::isfinite(value)) {  // a maximum would pass over NaN
            return std::numeric_limits<double>::infinity();
        }
        largest = std::max(largest, std::abs(value - expected));
    }
    return largest / std::abs(expected);
}

}  // namespace

std::string_view name(Operation operation) {
    switch (operation) {
        case Operation::kCopy:
            return "copy";
        case Operation::kScale:
            return "scale";
        case Operation::kAdd:
            return "add";
        case Operation::kTriad:
            return "triad";
    }
    return "";
}

std::size_t bytes_per_element(Operation operation) {
    const bool two_sources = operation == Operation::kAdd || operation == Operation::kTriad;
    return (two_sources ? 3 : 2) * sizeof(double);
}

bool has_non_temporal_stores() {
#if defined(__SSE2__)
    return true;
#else
    return false;
#endif
}

void run_operation(Operation operation, Stores stores, const Slices& slices) {
#if defined(__SSE2__)
    if (stores == Stores::kNonTemporal) {
        return run_streaming(operation, slices);
    }
#else
    (void)stores;
#endif
    run_regular(operation, slices);
}

Values expected_values(int rounds) {
    Values values;
    for (int round = 0; round < rounds; ++round) {
        values.c = values.a;
        values.b = kScalar * values.c;
        values.c = values.a + values.b;
        values.a = values.b + kScalar * values.c;
    }
    return values;
}

double largest_error(const Slices& slices, const Values& expected) {
    return std::max({error_of(slices.a, expected.a), error_of(slices.b, expected.b),
                     error_of(slices.c, expected.c)});
}

}  // namespace aferir
