#include "common/awaited.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "common/shared_memory.hpp"

namespace aferir {
namespace {

TEST(Gate, NobodyPassesBeforeAllHaveCome) {
    constexpr int kWorkers = 4;
    constexpr int kTurns = 200;
    for (const auto patience : {Patience{}, Patience{0, 3}, Patience{50, 0}}) {
        Gate gate;
        std::array<std::atomic<int>, kWorkers> turns{};
        std::atomic<int> early{0};
        std::vector<std::thread> workers;
        for (std::size_t worker = 0; worker < kWorkers; ++worker) {
            workers.emplace_back([&, worker] {
                for (int turn = 1; turn <= kTurns; ++turn) {
                    turns.at(worker) = turn;
                    gate.wait(kWorkers, patience);
                    for (const auto& other : turns) {
                        early += other < turn ? 1 : 0;
                    }
                }
            });
        }
        for (auto& worker : workers) {
            worker.join();
        }
        EXPECT_EQ(early, 0);
    }
}

/// Runs `work` in a child process; returns whether `work` returned true.
template <typename Work>
bool in_child(const Work& work) {
    const auto child = fork();
    if (child == 0) {
        _exit(work() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SharedFile, AnotherProcessFindsItAndIsAwaited) {
    const SharedFile file(kHugePage);
    const auto mapping = file.map(kHugePage);
    ASSERT_TRUE(SharedFile::take_pages(mapping, 0, kHugePage));
    auto* const answer = static_cast<Awaited*>(mapping.data());
    auto* const text = static_cast<char*>(mapping.data()) + kHugePage / 2;
    std::array<int, 2> found{};
    std::thread reader([&] {
        found[0] = answer->other_than(0, {});
        found[1] = text[0];
    });
    EXPECT_TRUE(in_child([&] {
        const auto mine = SharedFile::open(file.address());
        if (!mine) {
            return false;
        }
        const auto there = mine->map(kHugePage);
        usleep(10'000);  // so that the other sleeps
        std::memcpy(static_cast<char*>(there.data()) + kHugePage / 2, "x", 1);
        static_cast<Awaited*>(there.data())->set(7);
        return true;
    }));
    reader.join();
    EXPECT_EQ(found[0], 7);
    EXPECT_EQ(found[1], 'x');
}

TEST(SharedFile, WhatIsNotThereIsNotOpened) {
    EXPECT_FALSE(SharedFile::open({}).has_value());
    const SharedFile file(kHugePage);
    auto address = file.address();
    EXPECT_TRUE(SharedFile::open(address).has_value());
    ++address.inode;
    EXPECT_FALSE(SharedFile::open(address).has_value());
}

}  // namespace
}  // namespace aferir
