#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "launch/capture.hpp"

namespace aferir::launch {

/// Open files that a program gets as its first three.
struct Handles {
    int input = -1;
    int output = -1;
    int error = -1;
};

/// What a child tells its parent before it becomes the program.
struct Told {
    double start_s = 0.0;  ///< CLOCK_MONOTONIC just before execve
    int error = 0;         ///< errno of what failed; 0: it became the program
};

/// A program that was started in a session of its own, so that it has no terminal.
struct Started {
    pid_t pid = -1;    ///< -1: there is no such program
    std::string path;  ///< what is executed
    std::shared_ptr<const volatile Told> told;
};

/// A program that has ended.
struct Ended {
    int error = 0;            ///< errno; not 0: it was never executed
    double duration_s = 0.0;  ///< from just before execve until the program itself was gone
    int status = 0;           ///< of wait4(2)
    rusage usage{};           ///< of the program and of those of its children that it waited for
    double queued_s = -1.0;   ///< that its first thread waited for a processor; -1: not told
};

/// What a program printed.
struct Output {
    Capture out;
    Capture err;
};

/// Seconds of CLOCK_MONOTONIC.
double now_s();

/// Where a program named without a slash is on the PATH, as execvp(3) would look; empty: nowhere.
std::string find_program(const std::string& name);

/// Starts a program without a shell. Errors: std::system_error where no process can be made.
Started start(const std::vector<std::string>& command, const std::string& directory,
              const Handles& handles);

/// Takes in what a program prints until it has ended, and the rest that is in the pipes then; who
/// else holds these pipes is not waited for. A handle of -1 is not read.
/// Errors: Interrupted.
Ended follow(const Started& started, int out, int err, Output& output);

}  // namespace aferir::launch
