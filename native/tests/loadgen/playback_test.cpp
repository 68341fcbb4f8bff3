#include "loadgen/playback.hpp"

#include <gtest/gtest.h>

#include <random>

namespace aferir::loadgen {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
constexpr double kVideoRate = 1000.0;  // bytes a second: one a millisecond

TEST(Playback, BeginsWhenTheStartUpBufferIsFull) {
    Playback seen(kVideoRate, 100, 1000);
    seen.arrived(99, 5 * kMs, 5 * kMs);
    EXPECT_FALSE(seen.playing());
    EXPECT_FALSE(seen.deadline());
    seen.arrived(100, 7 * kMs, 7 * kMs);
    EXPECT_EQ(seen.began(), 7 * kMs);
    EXPECT_EQ(seen.deadline(), 107 * kMs);
}

TEST(Playback, BytesInTimeAreNoViolation) {
    Playback seen(kVideoRate, 100, 1000);
    seen.arrived(100, 0, 0);
    for (int k = 2; k <= 10; ++k) {
        seen.arrived(100 * k, 100 * (k - 1) * kMs, 0);
    }
    EXPECT_TRUE(seen.complete());
    EXPECT_EQ(seen.violations(), 0);
    EXPECT_EQ(seen.own_violations(), 0);
    EXPECT_FALSE(seen.deadline());
}

TEST(Playback, AByteLateIsAViolationAndThePictureWaitsForIt) {
    Playback seen(kVideoRate, 100, 1000);
    seen.arrived(100, 0, 0);
    seen.arrived(200, 130 * kMs, 100 * kMs);
    EXPECT_EQ(seen.violations(), 1);
    EXPECT_EQ(seen.stalled(), 30 * kMs);
    EXPECT_EQ(seen.deadline(), 230 * kMs);
    seen.arrived(300, 230 * kMs, 229 * kMs);
    EXPECT_EQ(seen.violations(), 1);
}

TEST(Playback, WhatWeLookedForTooLateIsOurOwnFault) {
    Playback seen(kVideoRate, 100, 1000);
    seen.arrived(100, 0, 0);
    seen.arrived(200, 130 * kMs, 60 * kMs);
    EXPECT_EQ(seen.violations(), 0);
    EXPECT_EQ(seen.own_violations(), 1);
    EXPECT_EQ(seen.stalled(), 0);
    EXPECT_EQ(seen.deadline(), 230 * kMs) << "the next violation must not inherit the delay";
}

TEST(Playback, AVideoShorterThanItsBufferPlaysWhenItIsThere) {
    Playback seen(kVideoRate, 5000, 10);
    seen.arrived(10, 3 * kMs, 3 * kMs);
    EXPECT_TRUE(seen.complete());
    EXPECT_EQ(seen.began(), 3 * kMs);
}

TEST(Playback, StallsAddUpToWhatTheBytesWereLate) {
    // The network is sometimes late; the picture must stand still exactly as long as necessary.
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        Playback seen(kVideoRate, 50, 100'000);
        seen.arrived(50, 0, 0);
        Nanoseconds at = 0;
        Nanoseconds stood = 0;
        std::int64_t bytes = 50;
        for (int k = 0; k < 100; ++k) {
            at += static_cast<Nanoseconds>(random() % 60) * kMs;
            const Nanoseconds played_until = bytes * kMs + stood;
            const Nanoseconds late = at > played_until ? at - played_until : 0;
            bytes += static_cast<std::int64_t>(1 + random() % 60);
            seen.arrived(bytes, at, at);
            stood += late;
            ASSERT_EQ(seen.stalled(), stood);
            ASSERT_EQ(seen.deadline(), bytes * kMs + stood);
        }
    }
}

}  // namespace
}  // namespace aferir::loadgen
