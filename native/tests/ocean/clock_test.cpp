#include <gtest/gtest.h>

#include <cmath>

#include "ocean/virtual_clock.hpp"

namespace aferir::ocean {
namespace {

ClockPage clock_of(double offset, double oscillator) {
    return {.version = 0,
            .base_raw = 100.0,
            .base_time = 100.0 + offset,
            .slew = 0.0,
            .oscillator = oscillator,
            .wake_ups = 0,
            .messages = 0};
}

TEST(VirtualClock, RunsAtItsOscillatorsRate) {
    const ClockPage page = clock_of(0.001, 30e-6);
    EXPECT_DOUBLE_EQ(read_clock(page, 100), 100.001);
    EXPECT_NEAR(read_clock(page, 110) - read_clock(page, 100), 10 * (1 + 30e-6), 1e-12);
}

TEST(VirtualClock, IsSlewedWithoutAJump) {
    ClockPage page = clock_of(0.001, 0);
    const double before = read_clock(page, 105);
    slew_clock(page, 105, -500e-6);
    EXPECT_DOUBLE_EQ(read_clock(page, 105), before);
    EXPECT_NEAR(read_clock(page, 106) - before, 1 - 500e-6, 1e-12);
}

TEST(VirtualClock, AnExchangeFindsTheOffsetWhereBothWaysTakeTheSameTime) {
    const Exchange exchange{
        .sent = 10.0, .received_there = 10.503, .sent_there = 10.504, .received = 10.007};
    EXPECT_NEAR(exchange.offset(), 0.5, 1e-12);
    EXPECT_NEAR(exchange.delay(), 0.006, 1e-12);
}

TEST(VirtualClock, ItsDaemonBringsAClockThatIsOffAndFastToTheServersTime) {
    ClockPage page = clock_of(0.0005, 30e-6);
    Discipline discipline;
    double raw = 100;
    double last = read_clock(page, raw);
    for (int look = 0; look < 200; ++look) {
        const double offset = raw - read_clock(page, raw);
        const double slew = discipline.correct(offset, 0.1);
        EXPECT_LE(std::abs(slew), 500e-6);
        slew_clock(page, raw, slew);
        raw += 0.1;
        EXPECT_GT(read_clock(page, raw), last);
        last = read_clock(page, raw);
    }
    EXPECT_NEAR(last, raw, 1e-7);
    EXPECT_NEAR(page.slew, -30e-6, 1e-6);
}

}  // namespace
}  // namespace aferir::ocean
