#include "common/leave_job.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace {

constexpr int kReturned = 99;

/// Exit code of a rank that leaves with 7, and all that it said, where the launcher has sent this.
struct Left {
    int code = 0;
    std::string said;
};

Left leave(const std::string& answers) {
    std::array<int, 2> ends{};
    Left left;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    EXPECT_EQ(write(ends[1], answers.data(), answers.size()), static_cast<ssize_t>(answers.size()));
    EXPECT_EQ(shutdown(ends[1], SHUT_WR), 0);
    const pid_t rank = fork();
    if (rank == 0) {
        close(ends[1]);
        setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
        leave_job(7);
        _exit(kReturned);
    }
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(rank, &status, 0), rank);
    left.code = WEXITSTATUS(status);
    std::array<char, 256> text{};
    for (ssize_t count = 0; (count = read(ends[1], text.data(), text.size())) > 0;) {
        left.said.append(text.data(), static_cast<std::size_t>(count));
    }
    close(ends[1]);
    return left;
}

TEST(LeaveJob, MeetsTheOthersAndSaysThatItEnds) {
    const Left left = leave("cmd=barrier_out\ncmd=finalize_ack rc=0\n");
    EXPECT_EQ(left.code, 7);
    EXPECT_EQ(left.said, "cmd=barrier_in\ncmd=finalize\n");
}

TEST(LeaveJob, EndsWhereTheLauncherAnswersOtherwiseOrHasGone) {
    for (const std::string answers : {"cmd=no\n", "cmd=barrier", ""}) {
        const Left left = leave(answers);
        EXPECT_EQ(left.code, 7);
        EXPECT_EQ(left.said, "cmd=barrier_in\n");
    }
}

TEST(LeaveJob, ReturnsWithoutALauncher) {
    ASSERT_EQ(unsetenv("PMI_FD"), 0);
    leave_job(7);
}

}  // namespace
