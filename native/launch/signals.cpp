#include "launch/signals.hpp"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace aferir::launch {
namespace {

int handle = -1;

sigset_t our_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

pid_t parent_of(const std::filesystem::path& process) {
    std::ifstream file(process / "stat");
    std::string text;
    std::getline(file, text);
    // The name may contain anything, spaces and parentheses too; the state and the parent follow.
    const auto name_end = text.rfind(") ");
    if (name_end == std::string::npos || text.size() < name_end + 5) {
        return 0;
    }
    return static_cast<pid_t>(std::strtol(text.c_str() + name_end + 4, nullptr, 10));
}

std::vector<pid_t> children() {
    std::vector<pid_t> found;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
        const std::string name = entry.path().filename();
        if (std::isdigit(static_cast<unsigned char>(name.front())) != 0 &&
            parent_of(entry.path()) == getpid()) {
            found.push_back(static_cast<pid_t>(std::stol(name)));
        }
    }
    return found;
}

}  // namespace

Interrupted::Interrupted(int signal, std::string stage)
    : std::runtime_error("interrupted"), signal_(signal), stage_(std::move(stage)) {}

Interrupted::~Interrupted() = default;

int open_signals() {
    if (handle >= 0) {
        return handle;
    }
    const sigset_t set = our_signals();
    sigprocmask(SIG_BLOCK, &set, nullptr);
    handle = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (handle < 0) {
        throw std::system_error(errno, std::generic_category(), "signalfd");
    }
    return handle;
}

void take_signals() {
    signalfd_siginfo info{};
    while (read(handle, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD) {
            throw Interrupted(static_cast<int>(info.ssi_signo));
        }
    }
}

void unblock_signals() {
    const sigset_t set = our_signals();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int end_descendants() {
    int count = 0;
    // Killing a process makes its children ours: repeats until there are none.
    while (true) {
        for (const pid_t child : children()) {
            kill(child, SIGKILL);
        }
        const pid_t ended = waitpid(-1, nullptr, 0);
        if (ended > 0) {
            ++count;
        } else if (errno == ECHILD) {
            return count;
        }
    }
}

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

}  // namespace aferir::launch
