#include "npb/random.hpp"

#include <gtest/gtest.h>

#include <array>

namespace aferir::npb {
namespace {

// One step by the definition, a x mod m, on integers that are wide enough.
std::uint64_t step(std::uint64_t seed, std::uint64_t multiplier) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{seed} * multiplier % (Wide{1} << 46U));
}

TEST(Random, StepIsTheDefinition) {
    std::uint64_t seed = 271828183;
    std::uint64_t expected = seed;
    for (int i = 0; i < 100'000; ++i) {
        expected = step(expected, 1220703125);
        const double number = randlc(seed);
        ASSERT_EQ(seed, expected);
        ASSERT_EQ(number, static_cast<double>(expected) / 70368744177664.0);
    }
}

// First numbers of the sequence of seed 314159265, computed from the definition by hand:
// 314159265 x 1220703125 = 383495196533203125, less 5449 x 2^46.
TEST(Random, FirstNumbersAreKnown) {
    std::uint64_t seed = 314159265;
    randlc(seed);
    EXPECT_EQ(seed, 383495196533203125ULL % 70368744177664ULL);
    EXPECT_EQ(kMultiplier, 5ULL * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5);
}

TEST(Random, JumpIsThatManySteps) {
    for (const std::uint64_t steps : {0ULL, 1ULL, 2ULL, 63ULL, 64ULL, 1000ULL, 99'999ULL}) {
        std::uint64_t seed = 271828183;
        for (std::uint64_t i = 0; i < steps; ++i) {
            randlc(seed);
        }
        EXPECT_EQ(lcg_skip(271828183, steps), seed) << steps;
    }
}

TEST(Random, PeriodIsTwoToThe44) {
    EXPECT_EQ(lcg_power(kMultiplier, 1ULL << 44U), 1U);
    EXPECT_NE(lcg_power(kMultiplier, 1ULL << 43U), 1U);
}

TEST(Random, VectorFormIsTheScalarForm) {
    std::uint64_t one = 314159265;
    std::uint64_t many = one;
    std::array<double, 37> numbers{};
    vranlc(many, kMultiplier, numbers);
    for (const double number : numbers) {
        EXPECT_EQ(number, randlc(one));
    }
    EXPECT_EQ(one, many);
}

}  // namespace
}  // namespace aferir::npb
