#include "loadgen/wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace aferir::loadgen {
namespace {

constexpr Nanoseconds kSlot = Wheel::kSlot;

TEST(Wheel, RingsWithinAMillisecondAndNeverEarly) {
    std::mt19937_64 random(3);
    Nanoseconds now = 123'456'789;
    Wheel wheel(now);
    std::map<std::uint32_t, Nanoseconds> asked;
    for (std::uint32_t client = 0; client < 5000; ++client) {
        asked[client] = now + static_cast<Nanoseconds>(random() % (8000 * kSlot));
        wheel.add(client, asked[client]);
    }
    while (!asked.empty()) {
        const Nanoseconds next = wheel.next();
        ASSERT_GT(next, now - kSlot);
        now = std::max(now, next);
        wheel.advance(now, [&](std::uint32_t client) {
            ASSERT_EQ(asked.count(client), 1U);
            EXPECT_LE(asked[client], now);
            EXPECT_GT(asked[client], now - kSlot);
            asked.erase(client);
        });
    }
    EXPECT_EQ(wheel.next(), std::numeric_limits<Nanoseconds>::max());
}

TEST(Wheel, WhatIsFurtherAheadThanItReachesRingsEarly) {
    Wheel wheel(0);
    wheel.add(1, 3600 * 1000 * kSlot);
    EXPECT_LT(wheel.next(), 9000 * kSlot);
}

TEST(Wheel, AnAlarmAtTheHorizonIsNotEarlyWhileOthersRing) {
    Wheel wheel(0);
    wheel.add(1, 5 * kSlot);
    Nanoseconds asked = 0;
    wheel.advance(7 * kSlot, [&](std::uint32_t client) {
        asked = wheel.horizon();
        wheel.add(client, asked);
    });
    EXPECT_GE(asked, 8000 * kSlot);
    EXPECT_EQ(wheel.next(), asked);
}

TEST(Wheel, APauseLongerThanATurnRingsEverythingOnce) {
    Wheel wheel(0);
    for (std::uint32_t client = 0; client < 100; ++client) {
        wheel.add(client, client * 50 * kSlot);
    }
    std::vector<std::uint32_t> rung;
    wheel.advance(100'000 * kSlot, [&](std::uint32_t client) { rung.push_back(client); });
    std::ranges::sort(rung);
    ASSERT_EQ(rung.size(), 100U);
    EXPECT_EQ(std::ranges::adjacent_find(rung), rung.end());
}

TEST(Wheel, AnAlarmMayBeAddedWhileOneRings) {
    Wheel wheel(0);
    wheel.add(1, 5 * kSlot);
    int rung = 0;
    const auto again = [&](std::uint32_t client) {
        ++rung;
        wheel.add(client, 0);  // in the past: at the next turn, not in an endless one now
    };
    wheel.advance(6 * kSlot, again);
    EXPECT_GE(rung, 1);
    EXPECT_LE(rung, 2);
    EXPECT_LE(wheel.next(), 7 * kSlot);
}

}  // namespace
}  // namespace aferir::loadgen
