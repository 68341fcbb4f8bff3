#include "io/wait.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "common/program.hpp"

namespace aferir::io {

void dies_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {  // it died before the request took effect
        _exit(kEnded);
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

std::string how_it_ended(int status) {
    if (!WIFSIGNALED(status)) {
        return "a process of it ended with exit code " + std::to_string(WEXITSTATUS(status));
    }
    const int number = WTERMSIG(status);
    const std::string why = number == SIGKILL ? "by the kernel for want of memory, or by somebody"
                                              : "by signal " + std::to_string(number);
    return "a process of it was killed, " + why + "; nothing was measured";
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? int{kEnded} : WEXITSTATUS(status); }

}  // namespace aferir::io
