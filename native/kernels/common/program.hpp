#pragma once

#include <cstdio>
#include <functional>
#include <string_view>

namespace aferir {

/// Exit codes that all our native programs share.
enum ExitCode : int {
    kVerified = 0,
    kUnverified = 1,
    kWrongUsage = 2,
    kNoMemory = 3,
    kNoStorage = 4,  ///< a file could not be written or read
    kEnded = 5,      ///< a process of the program was ended from outside
};

void print_line(std::FILE* stream, std::string_view text);

/// Waits until what was written to a pipe has been read, for at most a second.
void await_reader(std::FILE* stream);

/// Runs the program's body. An error is printed as one line on `err`, after the program's name, and
/// becomes the exit code.
int run_program(std::string_view name, std::FILE* err, const std::function<int()>& body);

}  // namespace aferir
