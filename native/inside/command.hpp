#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aferir::inside {

struct Wanted {
    std::vector<std::string> arguments;
    std::vector<std::string> variables;  // NAME=VALUE

    // Variable NAME=VALUE that marks all processes of the task; empty if there is none.
    [[nodiscard]] std::string mark() const;
    // Adds those of `defaults` whose names are not set yet.
    void add(const std::vector<std::string>& defaults);
};

// Parses the payload of Kind::kRun.
Wanted parsed(std::string_view payload);

// A child process and our ends of its pipes, or the reason why there is none.
struct Started {
    pid_t pid = -1;
    int out = -1;
    int err = -1;
    int error = 0;  // errno
    std::string why;
    std::uint64_t at_ns = 0;
};

Started start(const Wanted& wanted);

std::uint64_t now_ns();

}  // namespace aferir::inside
