#include "common/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>

#include "common/memory_limits.hpp"
#include "memory_bandwidth/cache.hpp"
#include "tree.hpp"

namespace aferir {
namespace {

constexpr auto kUnlimited = std::numeric_limits<std::size_t>::max();

TEST(Memory, MemAvailableIsRead) {
    std::istringstream text(
        "MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable:  70 kB\nBuffers: 1 kB\n");
    EXPECT_EQ(mem_available_bytes(text), 70U * 1024);
    std::istringstream old("MemTotal: 100 kB\n");
    EXPECT_EQ(mem_available_bytes(old), kUnlimited);
}

TEST(Memory, TightestVersion2GroupCounts) {
    const Tree tree;
    tree.write("proc/self/cgroup", "0::/user/job");
    tree.write("sys/fs/cgroup/user/job/memory.max", "max");
    tree.write("sys/fs/cgroup/user/job/memory.current", "10");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), kUnlimited);
    tree.write("sys/fs/cgroup/user/memory.max", "1000");
    tree.write("sys/fs/cgroup/user/memory.current", "300");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), 700U);
    tree.write("sys/fs/cgroup/user/job/memory.max", "110");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), 100U);
    tree.write("sys/fs/cgroup/user/job/memory.current", "200");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), 0U);
}

TEST(Memory, Version1GroupCounts) {
    const Tree tree;
    tree.write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/box\n0::/");
    tree.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000");
    tree.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), 4000U);
}

// In a container, its own control group is mounted as the root, but named as on the host.
TEST(Memory, GroupMountedAsRootCounts) {
    const Tree tree;
    tree.write("proc/self/cgroup", "0::/docker/0123");
    tree.write("sys/fs/cgroup/memory.max", "900");
    tree.write("sys/fs/cgroup/memory.current", "100");
    EXPECT_EQ(cgroup_headroom_bytes(tree.root()), 800U);
}

TEST(Memory, WithoutGroupsThereIsNoLimit) {
    EXPECT_EQ(cgroup_headroom_bytes(Tree().root()), kUnlimited);
}

TEST(Memory, ImpossibleRequirementIsRefused) {
    EXPECT_NO_THROW(require_memory(1));
    EXPECT_THROW(require_memory(std::size_t{1} << 60U), OutOfMemory);
}

TEST(Memory, ArrayIsZeroedAlignedAndMovable) {
    HugeArray<double> array(1'000'000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0U);
    EXPECT_EQ(array[0], 0.0);
    EXPECT_EQ(array[999'999], 0.0);
    array[999'999] = 7;
    const HugeArray<double> moved(std::move(array));
    EXPECT_EQ(moved[999'999], 7.0);
    EXPECT_EQ(moved.span().size(), 1'000'000U);
}

TEST(Cache, LastLevelsAreSummed) {
    const Tree tree;
    const std::string cpus = "sys/devices/system/cpu/";
    for (const std::string cpu : {"cpu0", "cpu1", "cpu2"}) {
        tree.write(cpus + cpu + "/cache/index0/level", "1");
        tree.write(cpus + cpu + "/cache/index0/type", "Data");
        tree.write(cpus + cpu + "/cache/index0/size", "32K");
        tree.write(cpus + cpu + "/cache/index0/shared_cpu_map", cpu);
        tree.write(cpus + cpu + "/cache/index3/level", "3");
        tree.write(cpus + cpu + "/cache/index3/type", "Unified");
        tree.write(cpus + cpu + "/cache/index3/size", "16384K");
        tree.write(cpus + cpu + "/cache/index3/shared_cpu_map", cpu == "cpu2" ? "4" : "3");
    }
    EXPECT_EQ(last_level_cache_bytes(tree.root()), 2U * (16U << 20U));
}

TEST(Cache, UnknownIsZero) { EXPECT_EQ(last_level_cache_bytes(Tree().root()), 0U); }

}  // namespace
}  // namespace aferir
