// Viewers of a video in segments on simulated time, and the rules by which they choose.
#include "loadgen/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "loadgen/playback.hpp"

namespace aferir::loadgen {
namespace {

const std::vector<double> kRates{1e6, 2e6, 4e6};

Manifest video(double seconds) {
    Manifest made;
    made.seconds = seconds;
    made.segment_s = 2.0;
    for (const double rate : kRates) {
        made.representations.push_back({"r", "", rate, "first", "$Number$"});
    }
    return made;
}

Situation seen(const std::vector<double>& throughputs, double buffered_s = 0.0,
               std::size_t last = 0) {
    return {kRates, last, buffered_s, 20.0, throughputs};
}

TEST(Rules, ByThroughputTakesNineTenthsOfTheMeanOfFour) {
    EXPECT_EQ(by_throughput(seen({})), 0U);
    EXPECT_EQ(by_throughput(seen({0.5e6})), 0U);
    EXPECT_EQ(by_throughput(seen({2.2e6})), 0U);
    EXPECT_EQ(by_throughput(seen({2.3e6})), 1U);
    EXPECT_EQ(by_throughput(seen({9e6, 1e6, 3e6, 2e6, 3.2e6})), 1U);
    EXPECT_EQ(by_throughput(seen({1e6, 9e6, 3e6, 2e6, 4e6})), 2U);
}

TEST(Rules, ByBufferFollowsTheLineBetweenReservoirAndFullAndStaysBetweenTwoRates) {
    EXPECT_EQ(by_buffer(seen({}, 7.5, 2)), 0U);   // in the reservoir
    EXPECT_EQ(by_buffer(seen({}, 18.0, 0)), 2U);  // full
    // The line passes 2 Mbit/s at 11 s and 4 Mbit/s at 18 s.
    EXPECT_EQ(by_buffer(seen({}, 10.9, 0)), 0U);
    EXPECT_EQ(by_buffer(seen({}, 11.1, 0)), 1U);
    EXPECT_EQ(by_buffer(seen({}, 17.9, 1)), 1U);
    EXPECT_EQ(by_buffer(seen({}, 12.0, 2)), 2U);  // not before it falls to the next rate
    EXPECT_EQ(by_buffer(seen({}, 10.9, 2)), 1U);
    EXPECT_EQ(by_buffer(seen({}, 10.9, 1)), 1U);
}

TEST(Rules, HaveNames) {
    EXPECT_EQ(rule_named("throughput"), by_throughput);
    EXPECT_EQ(rule_named("buffer"), by_buffer);
    EXPECT_EQ(rule_named("highest"), by_nothing);
    EXPECT_EQ(rule_named("bola"), std::nullopt);
}

struct Seen {
    Segments segments;
    Playback playback;
    double most_s = 0.0;
};

/// One viewer on a link whose rate in bit/s depends on the time in s, without any other delay.
Seen watch(double seconds, Rule rule, double most_s, const std::function<double(double)>& link) {
    Seen made{Segments(video(seconds), rule, most_s),
              Playback(1e6, 2'000'000, std::llround(seconds * 1e6))};
    double now = 0.0;
    const auto stamp = [&] { return static_cast<Nanoseconds>(std::llround(now * 1e9)); };
    while (!made.segments.complete()) {
        const double buffered = made.playback.buffered_s(stamp());
        if (made.playback.playing() && buffered > made.segments.room_s()) {
            now += buffered - made.segments.room_s();
        }
        const std::string url = made.segments.next(made.playback.buffered_s(stamp()));
        if (url == "first") {
            made.segments.arrived(0, 0.0);
            continue;
        }
        const double bits = made.segments.rate() * 2.0;
        const double took = bits / link(now);
        now += took;
        made.segments.arrived(std::llround(bits / 8.0), took);
        made.playback.arrived(std::llround(made.segments.arrived_s() * 1e6), stamp(), stamp());
        made.most_s = std::max(made.most_s, made.playback.buffered_s(stamp()));
    }
    return made;
}

TEST(Segments, WhoDoesNotAdaptStallsForWhatTheLinkLacks) {
    const Seen made = watch(40.0, by_nothing, 12.0, [](double) { return 3.2e6; });
    // 20 segments of 2 s take 2.5 s each; playing begins after the first.
    EXPECT_EQ(made.playback.violations(), 19);
    EXPECT_NEAR(static_cast<double>(made.playback.stalled()) * 1e-9, 19 * 0.5, 1e-6);
    EXPECT_EQ(made.segments.seconds_at(), (std::vector<double>{0.0, 0.0, 40.0}));
}

TEST(Segments, WhoeverAdaptsDoesNotStallOnALinkThatCarriesARateWithRoom) {
    for (const Rule rule : {by_throughput, by_buffer}) {
        const Seen made = watch(60.0, rule, 12.0, [](double) { return 3.2e6; });
        EXPECT_EQ(made.playback.violations(), 0);
        EXPECT_TRUE(made.playback.complete());
        EXPECT_LE(made.most_s, 12.0 + 1e-6);
        const std::vector<double>& came = made.segments.seconds_at();
        EXPECT_DOUBLE_EQ(came[0] + came[1] + came[2], 60.0);
        EXPECT_GT(came[1] + came[2], came[0]);
    }
}

TEST(Segments, AFallOfTheLinkIsFollowedAndItsRiseToo) {
    const auto link = [](double now) { return now < 20.0 || now > 60.0 ? 8e6 : 1.5e6; };
    for (const Rule rule : {by_throughput, by_buffer}) {
        const Seen made = watch(100.0, rule, 20.0, link);
        EXPECT_EQ(made.playback.violations(), 0);
        EXPECT_GE(made.segments.switches(), 3);
        EXPECT_GT(made.segments.seconds_at()[2], 20.0);
    }
    EXPECT_GT(watch(100.0, by_nothing, 20.0, link).playback.stalled(), 10 * kSecond);
}

TEST(Segments, TheLastOneIsAsLongAsWhatIsLeft) {
    const Seen made = watch(9.0, by_nothing, 12.0, [](double) { return 1e9; });
    EXPECT_DOUBLE_EQ(made.segments.arrived_s(), 9.0);
    EXPECT_DOUBLE_EQ(made.segments.seconds_at()[2], 9.0);
}

TEST(Segments, ABufferHoldsTwoAtLeast) {
    const Segments made(video(10.0), by_nothing, 0.5);
    EXPECT_DOUBLE_EQ(made.room_s(), 2.0);
}

}  // namespace
}  // namespace aferir::loadgen
