#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "launch/capture.hpp"

namespace aferir::launch {

/// Files that a program gets as its first three descriptors.
struct Handles {
    int input = -1;
    int output = -1;
    int error = -1;
};

/// Report of a child to its parent before it executes the program.
struct Told {
    double start_s = 0.0;  ///< CLOCK_MONOTONIC just before execve
    int error = 0;         ///< errno of what failed; 0: it became the program
};

/// A program that was started in its own session, so that it has no terminal.
struct Started {
    pid_t pid = -1;    ///< -1: there is no such program
    std::string path;  ///< what is executed
    std::shared_ptr<const volatile Told> told;
};

/// A program that has ended.
struct Ended {
    int error = 0;            ///< errno; not 0: it was never executed
    double duration_s = 0.0;  ///< from just before execve until the end of the program itself
    int status = 0;           ///< of wait4(2)
    rusage usage{};           ///< of the program and of those of its children that it waited for
    double queued_s = -1.0;   ///< time its first thread waited for a processor; -1: unknown
};

/// What a program printed.
struct Output {
    Capture out;
    Capture err;
};

/// Seconds of CLOCK_MONOTONIC.
double now_s();

/// Path of a program named without a slash, searched on PATH as by execvp(3); empty: not found.
std::string find_program(const std::string& name);

/// Starts a program without a shell. Errors: std::system_error if no process can be made.
Started start(const std::vector<std::string>& command, const std::string& directory,
              const Handles& handles);

/// Reads a program's output until it has ended, and then what is left in the pipes, without waiting
/// for other processes that hold them. A handle of -1 is not read. Errors: Interrupted.
Ended follow(const Started& started, int out, int err, Output& output);

}  // namespace aferir::launch
