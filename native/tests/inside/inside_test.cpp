#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "inside/attend.hpp"
#include "inside/command.hpp"
#include "inside/files.hpp"
#include "inside/frames.hpp"
#include "inside/processes.hpp"

namespace aferir::inside {
namespace {

Message run_of(std::uint32_t task, const std::vector<std::string>& words) {
    std::string payload;
    put_u32(payload, static_cast<std::uint32_t>(words.size()));
    for (const std::string& word : words) {
        payload += word + '\0';
    }
    return {Kind::kRun, task, payload};
}

TEST(Frames, AreReadHoweverTheyAreCut) {
    const std::string bytes = encoded({Kind::kOut, 7, "seven"}) + encoded({Kind::kHello, 0, ""});
    Reader reader;
    std::vector<Message> found;
    for (const char byte : bytes) {
        reader.add({&byte, 1});
        while (const auto message = reader.next()) {
            found.push_back(*message);
        }
    }
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].task, 7U);
    EXPECT_EQ(found[0].payload, "seven");
    EXPECT_EQ(found[1].kind, Kind::kHello);
}

TEST(Frames, ANumberThatIsCutOffIsZero) {
    std::string_view payload("\1\2", 2);
    EXPECT_EQ(take_u32(payload), 0U);
    EXPECT_TRUE(payload.empty());
}

TEST(Command, GivenVariablesWinOverDefaults) {
    Wanted wanted = parsed(run_of(1, {"sh", "-c", "x"}).payload);
    wanted.variables = {"A=given", "AFERIR_MARK=m"};
    wanted.add({"A=default", "B=default"});
    EXPECT_EQ(wanted.arguments, (std::vector<std::string>{"sh", "-c", "x"}));
    EXPECT_EQ(wanted.variables,
              (std::vector<std::string>{"A=given", "AFERIR_MARK=m", "B=default"}));
    EXPECT_EQ(wanted.mark(), "AFERIR_MARK=m");
}

TEST(Command, AProgramThatIsNotThereIsToldByItsError) {
    EXPECT_EQ(start({{"/no/such/program"}, {}}).error, ENOENT);
    EXPECT_EQ(start({{}, {}}).error, EINVAL);
    const std::string script = testing::TempDir() + "/script";
    std::ofstream(script) << "#!/no/such/interpreter\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    EXPECT_NE(start({{script}, {}}).why.find("interpreter"), std::string::npos);
}

TEST(Processes, WhatDescendsFromATaskAndWhatLeftItsSessionAreOfIt) {
    const Started child = start({{"sh", "-c", "setsid sleep 100 & sleep 100 & wait"},
                                 {"AFERIR_MARK=left", std::string("PATH=") + std::getenv("PATH")}});
    ASSERT_EQ(child.error, 0);
    while (of_task(child.pid, "AFERIR_MARK=left").size() < 3) {
        usleep(1000);
    }
    kill_task(child.pid, "AFERIR_MARK=left");
    int status = 0;
    waitpid(child.pid, &status, 0);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    while (!of_task(child.pid, "AFERIR_MARK=left").empty()) {
        usleep(1000);
    }
}

TEST(Processes, ATaskIsAskedToEndBeforeItIsKilled) {
    const Started child =
        start({{"sh", "-c", "trap 'echo undone; exit 3' TERM; sleep 100 & echo ready; wait"},
               {"AFERIR_MARK=asked", std::string("PATH=") + std::getenv("PATH")}});
    ASSERT_EQ(child.error, 0);
    fcntl(child.out, F_SETFL, 0);
    std::array<char, 16> said{};
    ASSERT_EQ(read(child.out, said.data(), said.size()), 6);
    end_task(child.pid, "AFERIR_MARK=asked", std::numeric_limits<int>::max() / 1000);
    int status = 0;
    waitpid(child.pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 3);
    ASSERT_EQ(read(child.out, said.data(), said.size()), 7);
    EXPECT_EQ(std::string_view(said.data(), 7), "undone\n");
    while (!of_task(-1, "AFERIR_MARK=asked").empty()) {
        usleep(1000);
    }
}

TEST(Files, OneGoesInWithItsModeAndOutUnchanged) {
    const std::string path = testing::TempDir() + "/deep/er/file";
    {
        Arriving arriving(path, 0751);
        arriving.add("some ");
        arriving.add("bytes");
        EXPECT_EQ(arriving.finish(), 0);
    }
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0751));
    std::string back;
    EXPECT_EQ(send_file(path,
                        [&](std::string_view piece) {
                            back += piece;
                            return true;
                        }),
              0);
    EXPECT_EQ(back, "some bytes");
    EXPECT_EQ(send_file(testing::TempDir(), [](std::string_view) { return true; }), EISDIR);
    EXPECT_EQ(Arriving("/proc/no/such", 0644).finish(), ENOENT);
}

TEST(Attend, RunsWhatItIsAskedForAndEndsWhatIsLeftWithTheLine) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    ASSERT_EQ(pipe(in.data()), 0);
    ASSERT_EQ(pipe(out.data()), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        close(in[1]);
        close(out[0]);
        _exit(attend(in[0], out[1], {"A=b", std::string("PATH=") + std::getenv("PATH")}));
    }
    close(in[0]);
    close(out[1]);
    ASSERT_TRUE(write_all(in[1], encoded(run_of(1, {"sh", "-c", "echo $A; exit 3"})) +
                                     encoded(run_of(2, {"sleep", "1000"}))));
    Reader reader;
    std::string said;
    int status = -1;
    while (status < 0) {
        std::array<char, 512> piece{};
        const ssize_t size = read(out[0], piece.data(), piece.size());
        ASSERT_GT(size, 0);
        reader.add({piece.data(), static_cast<std::size_t>(size)});
        while (const auto message = reader.next()) {
            std::string_view payload = message->payload;
            if (message->kind == Kind::kOut) {
                said += payload;
            } else if (message->kind == Kind::kExited) {
                EXPECT_EQ(message->task, 1U);
                status = static_cast<int>(take_u32(payload));
            }
        }
    }
    EXPECT_EQ(WEXITSTATUS(status), 3);
    EXPECT_EQ(said, "b\n");
    close(in[1]);
    waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    close(out[0]);
}

}  // namespace
}  // namespace aferir::inside
