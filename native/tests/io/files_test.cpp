// Tests the counting of I/O, the removal of folders, and the reports of how processes ended.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "common/program.hpp"
#include "common/storage.hpp"
#include "folder.hpp"
#include "io/counter.hpp"
#include "io/file.hpp"
#include "io/hash.hpp"
#include "io/processes.hpp"
#include "io/threads.hpp"

namespace aferir::io {
namespace {

TEST(File, CountsWhatIsReadAndWritten) {
    const Folder folder;
    Volume volume;
    File file(folder.path() / "a", O_RDWR | O_CREAT, volume);
    const std::array<std::byte, 700> data{};
    file.append(data);
    file.append(data);
    file.sync();
    std::array<std::byte, 1000> back{};
    EXPECT_EQ(file.read_at(back, 0), 1000U);
    EXPECT_EQ(file.read_at(back, 1000), 400U);
    EXPECT_EQ(file.size(), 1400U);
    const auto counts = counts_of(volume);
    EXPECT_EQ(counts.written_bytes, 1400U);
    EXPECT_EQ(counts.read_bytes, 1400U);
    EXPECT_EQ(counts.syncs, 1U);
    EXPECT_EQ(counts.writes, 2U);
    EXPECT_EQ(counts.operations(), 6U);  // 2,800 bytes: five times 512, and one begun
}

TEST(File, AFullDeviceIsNamed) {
    Volume volume;
    File file("/dev/full", O_WRONLY, volume);
    const std::array<std::byte, 10> data{};
    try {
        file.append(data);
        FAIL() << "it was written";
    } catch (const StorageError& error) {
        EXPECT_NE(std::string(error.what()).find("no space left on the device"), std::string::npos);
    }
    EXPECT_THROW(File("/nowhere/a", O_RDONLY, volume), StorageError);
}

TEST(Processes, ShareMemoryAndMeetAtABarrier) {
    constexpr int kProcesses = 4;
    const SharedArray<int> values(kProcesses);
    const Barrier all(kProcesses);
    in_processes("test", kProcesses, stderr, [&](int rank) {
        values[static_cast<std::size_t>(rank)] = rank + 1;
        all.wait();
        const auto sum = std::accumulate(values.span().begin(), values.span().end(), 0);
        all.wait();
        values[static_cast<std::size_t>(rank)] = sum;
    });
    for (const int value : values.span()) {
        EXPECT_EQ(value, 10);
    }
}

int code_of(const std::function<void(int)>& body) {
    try {
        in_processes("test", 3, stderr, body);
    } catch (const ProcessFailed& failed) {
        return failed.code();
    }
    return kVerified;
}

TEST(Processes, OneThatFailsEndsTheOthersAndItsCodeIsTold) {
    const auto fails = [](const auto& how) {
        return [&how](int rank) {
            if (rank == 1) {
                how();
            }
            pause();  // for ever, unless it is killed
        };
    };
    EXPECT_EQ(code_of(fails([] { throw OutOfMemory("none left"); })), kNoMemory);
    EXPECT_EQ(code_of(fails([] { throw std::bad_alloc(); })), kNoMemory);
    EXPECT_EQ(code_of(fails([] { throw StorageError("full"); })), kNoStorage);
    EXPECT_EQ(code_of(fails([] { raise(SIGKILL); })), kEnded);
}

int supervised(const Folder& folder, const std::function<void()>& body) {
    const std::string option = "--folder=" + folder.path().string();
    const std::array<std::string_view, 1> given{option};
    return run_in_scratch("test", "usage", given, {}, {},
                          [&](const auto& /*arguments*/, const auto& own) {
                              std::ofstream(own / "file") << "data";
                              std::filesystem::create_directories(own / "a" / "b");
                              body();
                              return static_cast<int>(kVerified);
                          });
}

TEST(Scratch, NothingIsLeftHoweverTheProgramEnds) {
    const Folder folder;
    EXPECT_EQ(supervised(folder, [] {}), kVerified);
    EXPECT_EQ(supervised(folder, [] { throw StorageError("full"); }), kNoStorage);
    EXPECT_EQ(supervised(folder, [] { raise(SIGKILL); }), kEnded);
    EXPECT_EQ(supervised(folder,
                         [] {
                             kill(getppid(), SIGTERM);
                             pause();
                         }),
              kEnded);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Threads, TheFirstErrorIsThrownAgainAfterAllHaveEnded) {
    std::atomic<int> ended{0};
    EXPECT_THROW(in_threads(4,
                            [&](int thread) {
                                ended += 1;
                                if (thread == 2) {
                                    throw StorageError("full");
                                }
                            }),
                 StorageError);
    EXPECT_EQ(ended, 4);
}

TEST(TermCounter, CountsAsAMapDoes) {
    TermCounter counter;
    std::map<std::string, std::uint64_t> expected;
    Random random(1, 2);
    for (int i = 0; i < 50'000; ++i) {
        // Half of the terms have the same hash, so that only their letters distinguish them.
        const auto number = random.below(5000);
        const auto term = "t" + std::to_string(number);
        counter.add(term, number % 2 == 0 ? 42 : hash_text(term), 1 + number % 3);
        expected[term] += 1 + number % 3;
    }
    EXPECT_EQ(counter.size(), expected.size());
    counter.for_each([&](std::string_view term, auto /*hash*/, auto times) {
        EXPECT_EQ(expected.at(std::string(term)), times);
    });
    counter.clear();
    EXPECT_EQ(counter.size(), 0U);
}

}  // namespace
}  // namespace aferir::io
