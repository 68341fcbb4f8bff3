#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace aferir {

enum class Operation { kCopy, kScale, kAdd, kTriad };

inline constexpr std::array kOperations{Operation::kCopy, Operation::kScale, Operation::kAdd,
                                        Operation::kTriad};

std::string_view name(Operation operation);

/// Bytes that one operation moves for each element, as STREAM counts them: what a store must read
/// first (write-allocate) is not counted.
std::size_t bytes_per_element(Operation operation);

enum class Stores { kRegular, kNonTemporal };

/// Whether this processor's stores can bypass the caches.
bool has_non_temporal_stores();

/// Scalar sqrt(2) - 1: only with it does one round of copy, scale, add and triad leave a unchanged,
/// so that any number of rounds can be verified without overflow.
inline constexpr double kScalar = 0.41421356237309504880;

/// Equal parts of the three arrays, 64-byte aligned.
struct Slices {
    std::span<double> a;
    std::span<double> b;
    std::span<double> c;
};

/// c = a, b = s c, c = a + b, or a = b + s c.
void run_operation(Operation operation, Stores stores, const Slices& slices);

/// Values of an element of each array.
struct Values {
    double a = 1;
    double b = 2;
    double c = 0;
};

/// Values of every element after `rounds` rounds.
Values expected_values(int rounds);

/// Largest relative difference of any element from its expected value.
double largest_error(const Slices& slices, const Values& expected);

}  // namespace aferir
