#include "memory_bandwidth/bandwidth.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "capture.hpp"
#include "common/arguments.hpp"
#include "common/memory.hpp"

namespace aferir {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

std::vector<Stores> kinds_of_stores() {
    if (has_non_temporal_stores()) {
        return {Stores::kRegular, Stores::kNonTemporal};
    }
    return {Stores::kRegular};
}

TEST(Operations, EachDoesWhatItsNameSays) {
    for (const auto stores : kinds_of_stores()) {
        for (const auto operation : kOperations) {
            // No multiple of a vector's or a cache line's size, so that the remainder is tested
            // too.
            alignas(64) std::array<double, 24> a{};
            alignas(64) std::array<double, 24> b{};
            alignas(64) std::array<double, 24> c{};
            a.fill(3);
            b.fill(5);
            c.fill(7);
            const auto cut = [](auto& array) { return std::span<double>(array).first(21); };
            run_operation(operation, stores, {cut(a), cut(b), cut(c)});
            Values expected{3, 5, 7};
            switch (operation) {
                case Operation::kCopy:
                    expected.c = 3;
                    break;
                case Operation::kScale:
                    expected.b = kScalar * 7;
                    break;
                case Operation::kAdd:
                    expected.c = 3 + 5;
                    break;
                case Operation::kTriad:
                    expected.a = 5 + kScalar * 7;
                    break;
            }
            EXPECT_LT(largest_error({cut(a), cut(b), cut(c)}, expected), 1e-15) << name(operation);
            EXPECT_EQ(a[21], 3);
            EXPECT_EQ(b[21], 5);
            EXPECT_EQ(c[21], 7);
        }
    }
}

TEST(Operations, BytesAreCountedAsStreamDoes) {
    EXPECT_EQ(bytes_per_element(Operation::kCopy), 16U);
    EXPECT_EQ(bytes_per_element(Operation::kScale), 16U);
    EXPECT_EQ(bytes_per_element(Operation::kAdd), 24U);
    EXPECT_EQ(bytes_per_element(Operation::kTriad), 24U);
}

TEST(Operations, OneWrongElementIsSeen) {
    std::array<double, 8> a{};
    std::array<double, 8> b{};
    std::array<double, 8> c{};
    const auto expected = expected_values(3);
    a.fill(expected.a);
    b.fill(expected.b);
    c.fill(expected.c);
    EXPECT_EQ(largest_error({a, b, c}, expected), 0);
    b[5] *= 1 + 1e-9;
    EXPECT_GT(largest_error({a, b, c}, expected), 5e-10);
    b[5] = NAN;
    EXPECT_FALSE(largest_error({a, b, c}, expected) <= 1);
}

TEST(Operations, ValuesStayFiniteForAnyNumberOfRounds) {
    EXPECT_NEAR(expected_values(10'000).a, 1, 1e-9);
}

TEST(Bandwidth, SizeIsFourTimesTheCaches) {
    EXPECT_EQ(choose_array_bytes({}, 10 * kMebibyte, 1000 * kMebibyte), 40 * kMebibyte);
    BandwidthRequest request;
    request.array_bytes = 50 * kMebibyte + 7;
    EXPECT_EQ(choose_array_bytes(request, 10 * kMebibyte, 1000 * kMebibyte), 50 * kMebibyte);
}

TEST(Bandwidth, ArraysThatCachesCouldServeAreRefused) {
    BandwidthRequest request;
    request.array_bytes = 39 * kMebibyte;
    EXPECT_THROW(choose_array_bytes(request, 10 * kMebibyte, 1000 * kMebibyte), UsageError);
    request.allow_small = true;
    EXPECT_EQ(choose_array_bytes(request, 10 * kMebibyte, 1000 * kMebibyte), 39 * kMebibyte);
    EXPECT_THROW(choose_array_bytes({}, 0, 1000 * kMebibyte), UsageError);
}

TEST(Bandwidth, ArraysBeyondTheMemoryAreRefused) {
    BandwidthRequest request;
    EXPECT_THROW(choose_array_bytes(request, 10 * kMebibyte, 150 * kMebibyte), OutOfMemory);
    request.allow_small = true;
    const auto bytes = choose_array_bytes(request, 10 * kMebibyte, 150 * kMebibyte);
    EXPECT_LE(3 * bytes, 150 * kMebibyte);
    EXPECT_GT(3 * bytes, 80 * kMebibyte);
    EXPECT_THROW(choose_array_bytes(request, 10 * kMebibyte, 0), OutOfMemory);
}

TEST(Bandwidth, MeasuresAndVerifiesForAnyNumberOfThreads) {
    for (const int threads : {1, 2, 3}) {
        BandwidthRequest request;
        request.threads = threads;
        request.repetitions = 4;
        const auto result = measure_bandwidth(request, kMebibyte);
        EXPECT_TRUE(is_verified(result));
        EXPECT_GT(result.duration_s, 0);
        for (const auto& seconds : result.seconds) {
            EXPECT_EQ(seconds.size(), 4U);
        }
    }
}

Bandwidths some_result(double error) {
    Bandwidths result;
    for (auto& seconds : result.seconds) {
        seconds = {0.5, 0.25, 1.0};
    }
    result.duration_s = 7;
    result.error = error;
    return result;
}

TEST(Bandwidth, ReportHasBestAndMedian) {
    const auto json = bandwidth_report({}, 8'000'000, 1'000'000, some_result(0));
    EXPECT_TRUE(contains(json, "\"copy_bps\":6.4e+07,\"copy_median_bps\":3.2e+07,")) << json;
    EXPECT_TRUE(contains(json, "\"triad_bps\":9.6e+07,\"triad_median_bps\":4.8e+07,")) << json;
    EXPECT_TRUE(contains(json, "\"array_bytes\":8000000,\"llc_bytes\":1000000,"));
    EXPECT_TRUE(contains(json, "\"beyond_caches\":true,"));
    EXPECT_TRUE(contains(json, "\"duration_s\":7,"));
    EXPECT_TRUE(contains(json, "\"verified\":true"));
}

TEST(Bandwidth, WrongResultHasNoFigures) {
    const auto json = bandwidth_report({}, 8'000'000, 1'000'000, some_result(1e-3));
    EXPECT_TRUE(contains(json, "\"verified\":false"));
    EXPECT_TRUE(contains(json, "\"error\":"));
    EXPECT_FALSE(contains(json, "duration_s"));
    EXPECT_FALSE(contains(json, "triad"));
}

TEST(Bandwidth, ProgramRunsOnSmallArrays) {
    const Capture out;
    const Capture err;
    const std::vector<std::string_view> given{"--array-bytes", "1048576", "--allow-small",
                                              "--repetitions", "2"};
    EXPECT_EQ(memory_bandwidth(given, out.file(), err.file()), 0) << err.text();
    EXPECT_TRUE(contains(out.text(), "{\"program\":\"memory-bandwidth\",\"threads\":"));
}

TEST(Bandwidth, WrongCommandLine) {
    const std::vector<std::vector<std::string_view>> cases{
        {"--stores", "odd"}, {"--threads", "0"}, {"--array-bytes", "1"}, {"--array-bytes=65536"}};
    for (const auto& given : cases) {
        const Capture out;
        const Capture err;
        EXPECT_EQ(memory_bandwidth(given, out.file(), err.file()), 2) << given[0];
        EXPECT_EQ(out.text(), "");
        EXPECT_NE(err.text(), "");
    }
}

}  // namespace
}  // namespace aferir
