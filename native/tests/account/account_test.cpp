#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "account/blocks.hpp"
#include "account/event.hpp"
#include "account/sampler.hpp"

namespace aferir::account {
namespace {

/// Appends a sample as the kernel writes it: process, thread, control group.
void add_look(std::vector<std::byte>& ring, std::uint16_t mode, std::uint32_t process,
              std::uint64_t group) {
    const std::array<std::uint64_t, 2> body{(std::uint64_t{process} << 32U) | process, group};
    const perf_event_header header{
        .type = PERF_RECORD_SAMPLE, .misc = mode, .size = sizeof header + sizeof body};
    const auto old = ring.size();
    ring.resize(old + header.size);
    std::memcpy(&ring[old], &header, sizeof header);
    std::memcpy(&ring[old + sizeof header], body.data(), sizeof body);
}

TEST(Account, ProcessorsAreToldByNumberNotByCount) {
    EXPECT_EQ(numbers_in("0,2-5,7\n"), (std::vector<int>{0, 2, 3, 4, 5, 7}));
    EXPECT_EQ(numbers_in("3"), std::vector<int>{3});
    for (const auto* broken : {"", "\n", "-", "a", "0-", "5-2", "1 2", "0,-1", "0;1"}) {
        EXPECT_TRUE(numbers_in(broken).empty()) << broken;
    }
}

TEST(Account, LooksAreCountedByMode) {
    std::vector<std::byte> ring;
    add_look(ring, PERF_RECORD_MISC_USER, 7, 1);
    add_look(ring, PERF_RECORD_MISC_KERNEL, 7, 1);
    add_look(ring, PERF_RECORD_MISC_KERNEL, 0, 1);
    add_look(ring, PERF_RECORD_MISC_GUEST_KERNEL, 8, 1);
    Samples samples;
    add_records(ring, {}, samples);
    EXPECT_DOUBLE_EQ(samples.all.user_s, 1);
    EXPECT_DOUBLE_EQ(samples.all.system_s, 1);
    EXPECT_DOUBLE_EQ(samples.all.idle_s, 1);
    EXPECT_DOUBLE_EQ(samples.all.guest_s, 1);
    EXPECT_EQ(samples.all.looks, 4U);
    EXPECT_EQ(samples.target.looks, 0U);
}

TEST(Account, EachLookStandsForThePeriodItWasTakenWith) {
    Modes modes{.user_s = 1, .looks = 7};
    modes.add({.user_s = 2, .system_s = 1, .idle_s = 1, .looks = 4}, 0.5);
    EXPECT_DOUBLE_EQ(modes.user_s, 2);
    EXPECT_DOUBLE_EQ(modes.system_s, 0.5);
    EXPECT_DOUBLE_EQ(modes.idle_s, 0.5);
    EXPECT_EQ(modes.looks, 11U);
}

TEST(Account, ProcessesAndGroupsThatAreAskedForAreCountedApart) {
    std::vector<std::byte> ring;
    add_look(ring, PERF_RECORD_MISC_USER, 7, 1);
    add_look(ring, PERF_RECORD_MISC_KERNEL, 8, 2);
    add_look(ring, PERF_RECORD_MISC_USER, 9, 3);
    Samples samples;
    add_records(ring, {.processes = {7}, .groups = {2}}, samples);
    EXPECT_EQ(samples.target.looks, 2U);
    EXPECT_DOUBLE_EQ(samples.target.user_s, 1);
    EXPECT_DOUBLE_EQ(samples.target.system_s, 1);
}

TEST(Account, LostLooksAreCountedAndTornRecordsLeftAlone) {
    const std::array<std::uint64_t, 2> body{0, 5};
    const perf_event_header header{
        .type = PERF_RECORD_LOST, .misc = 0, .size = sizeof header + sizeof body};
    std::vector<std::byte> ring(header.size);
    std::memcpy(ring.data(), &header, sizeof header);
    std::memcpy(&ring[sizeof header], body.data(), sizeof body);
    add_look(ring, PERF_RECORD_MISC_USER, 7, 1);
    ring.resize(ring.size() - 1);
    Samples samples;
    add_records(ring, {}, samples);
    EXPECT_EQ(samples.lost, 5U);
    EXPECT_EQ(samples.all.looks, 0U);
}

TEST(Account, BusyProcessorsGetMoreLooksAndAllTogetherTheSame) {
    const std::array<double, 4> busy{1.0, 0.5, 0.0, 0.0};
    const auto found = rates(busy, 700);
    EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 700, 1e-9);
    EXPECT_DOUBLE_EQ(found[0], 2 * found[1]);
    EXPECT_GT(found[3], 0);
}

TEST(Account, FilterNamesTheDeviceAsTheKernelNumbersIt) {
    EXPECT_EQ(block_filter(std::nullopt, ""), "");
    EXPECT_EQ(block_filter(makedev(7, 3), ""), "dev == 7340035");
    EXPECT_EQ(block_filter(makedev(7, 3), "a"), "dev == 7340035 && a");
    EXPECT_EQ(block_filter(std::nullopt, "a"), "a");
}

}  // namespace
}  // namespace aferir::account
