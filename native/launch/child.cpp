#include "launch/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "launch/signals.hpp"

namespace aferir::launch {
namespace {

constexpr std::size_t kChunk = 65536;
constexpr int kMostReads = 64;

std::shared_ptr<volatile Told> shared_page() {
    void* const page =
        mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        throw std::system_error(errno, std::generic_category(), "mmap");
    }
    return {static_cast<volatile Told*>(page), [page](auto*) { munmap(page, sizeof(Told)); }};
}

[[noreturn]] void become(const char* path, char* const* words, const std::string& directory,
                         const Handles& handles, volatile Told& told) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // it ends with this process
    unblock_signals();
    std::signal(SIGPIPE, SIG_DFL);
    if (dup2(handles.input, 0) >= 0 && dup2(handles.output, 1) >= 0 &&
        dup2(handles.error, 2) >= 0 && (directory.empty() || chdir(directory.c_str()) == 0)) {
        told.start_s = now_s();
        execve(path, words, environ);
    }
    told.error = errno;
    _exit(127);
}

/// Reads what has arrived, at most `kMostReads` buffers because a writer may never pause; false at
/// the end of the stream.
bool take(int handle, Capture& capture) {
    static std::array<char, kChunk> buffer{};
    for (int left = kMostReads; left > 0; --left) {
        const ssize_t got = read(handle, buffer.data(), buffer.size());
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        }
        capture.add({buffer.data(), static_cast<std::size_t>(got)});
        if (static_cast<std::size_t>(got) < buffer.size()) {
            break;
        }
    }
    return true;
}

/// Whether the program has ended; its ID is not reused before it is waited for.
bool is_gone(pid_t pid) {
    siginfo_t told{};
    return waitid(P_PID, static_cast<id_t>(pid), &told, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           told.si_pid == pid;
}

/// Queueing time of a program that has ended and is not waited for yet, see /proc/PID/schedstat in
/// proc(5).
double queued_s(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
    double running_ns = 0;
    double queued_ns = 0;
    return file >> running_ns >> queued_ns ? queued_ns * 1e-9 : -1.0;
}

void not_blocking(int handle) {
    if (handle >= 0) {
        fcntl(handle, F_SETFL, fcntl(handle, F_GETFL) | O_NONBLOCK);
    }
}

}  // namespace

double now_s() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string find_program(const std::string& name) {
    const char* const set = std::getenv("PATH");
    const std::string folders =
        set != nullptr && *set != '\0' ? set : "/usr/local/bin:/usr/bin:/bin";
    std::string unusable;
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        std::string path = (end > at ? folders.substr(at, end - at) : ".") + "/" + name;
        at = end + 1;
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(path, ignored)) {
            continue;
        }
        if (access(path.c_str(), X_OK) == 0) {
            return path;
        }
        unusable = unusable.empty() ? std::move(path) : unusable;
    }
    return unusable;
}

Started start(const std::vector<std::string>& command, const std::string& directory,
              const Handles& handles) {
    Started started;
    const bool named = command.front().find('/') != std::string::npos;
    started.path = named ? command.front() : find_program(command.front());
    if (started.path.empty()) {
        return started;
    }
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));  // execve(2) does not write there
    }
    words.push_back(nullptr);
    const auto told = shared_page();
    started.told = told;
    started.pid = fork();
    if (started.pid < 0) {
        throw std::system_error(errno, std::generic_category(), "no process can be made");
    }
    if (started.pid == 0) {
        become(started.path.c_str(), words.data(), directory, handles, *told);
    }
    return started;
}

Ended follow(const Started& started, int out, int err, Output& output) {
    Ended ended;
    if (started.pid < 0) {
        ended.error = ENOENT;
        return ended;
    }
    not_blocking(out);
    not_blocking(err);
    std::array<pollfd, 3> waited{{{open_signals(), POLLIN, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}}};
    while (!is_gone(started.pid)) {
        poll(waited.data(), waited.size(), -1);
        take_signals();
        if (waited[1].revents != 0 && !take(out, output.out)) {
            waited[1].fd = -1;
        }
        if (waited[2].revents != 0 && !take(err, output.err)) {
            waited[2].fd = -1;
        }
    }
    ended.duration_s = now_s() - started.told->start_s;
    ended.queued_s = queued_s(started.pid);
    wait4(started.pid, &ended.status, 0, &ended.usage);
    ended.error = started.told->error;
    for (auto [handle, capture] : {std::pair{out, &output.out}, std::pair{err, &output.err}}) {
        if (handle >= 0) {
            take(handle, *capture);
        }
    }
    return ended;
}

}  // namespace aferir::launch
