#pragma once

#include <sys/types.h>

#include <string>

namespace aferir::io {

/// Has the kernel kill the calling process when `parent` ends. Called by a forked process.
void dies_with(pid_t parent);

/// Waits for one child; its status as of waitpid(2).
int wait_for(pid_t child);

/// Description of a status that is not 0.
std::string how_it_ended(int status);

/// The child's own exit code, or kEnded where a signal ended it.
int exit_code_of(int status);

}  // namespace aferir::io
