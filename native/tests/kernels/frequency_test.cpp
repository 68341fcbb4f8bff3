#include "core_frequency/frequency.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <string>

#include "capture.hpp"

namespace aferir {
namespace {

TEST(Frequency, ShortestWindowIsTheCoresOwnSpeed) {
    const std::array<double, 5> seconds{2e-6, 1e-6, 5e-6, 2e-6, 9e-6};
    const auto result = frequencies(seconds, 4000);
    EXPECT_DOUBLE_EQ(result.highest_hz, 4e9);
    EXPECT_DOUBLE_EQ(result.median_hz, 2e9);
}

TEST(Frequency, RateIsTicksOverTime) {
    EXPECT_DOUBLE_EQ(counter_rate({1000, 1.0}, {6000, 3.0}), 2500);
}

TEST(Frequency, CounterAdvancesWithTheClock) {
    const auto first = read_counter();
    const auto last = read_counter();
    EXPECT_GT(last.ticks, first.ticks);
    EXPECT_GT(last.seconds, first.seconds);
}

TEST(Frequency, ProgramRunsWhereItIsTold) {
    const int cpu = sched_getcpu();
    const auto name = std::to_string(cpu);
    const std::vector<std::string_view> given{"--cpu", name, "--milliseconds", "5"};
    const Capture out;
    const Capture err;
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(core_frequency(given, out.file(), err.file()), 0);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_TRUE(contains(out.text(), "{\"program\":\"core-frequency\",\"cpu\":" + name + ","));
    for (const auto* field : {"frequency_hz", "median_hz", "tsc_hz", "duration_s", "windows"}) {
        EXPECT_TRUE(contains(out.text(), std::string("\"") + field + "\":")) << field;
    }
}

TEST(Frequency, WrongCommandLine) {
    const std::vector<std::vector<std::string_view>> cases{
        {"--cpu", "1023"}, {"--cpu", "x"}, {"--milliseconds", "0"}, {"--hz"}};
    for (const auto& given : cases) {
        const Capture out;
        const Capture err;
        EXPECT_EQ(core_frequency(given, out.file(), err.file()), 2) << given[0];
        EXPECT_EQ(out.text(), "");
        EXPECT_NE(err.text(), "");
    }
}

}  // namespace
}  // namespace aferir
