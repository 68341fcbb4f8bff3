#include "inside/command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <set>

#include "inside/frames.hpp"

namespace aferir::inside {

namespace {

constexpr std::string_view kMark = "AFERIR_MARK=";
constexpr int kNotStarted = 127;

struct Pipe {
    int read = -1;
    int write = -1;
};

bool open_pipe(Pipe& made) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return false;
    }
    made = {ends[0], ends[1]};
    return true;
}

void shut(const Pipe& pipe) {
    for (const int handle : {pipe.read, pipe.write}) {
        if (handle >= 0) {
            close(handle);
        }
    }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> found;
    found.reserve(words.size() + 1);
    for (const std::string& word : words) {
        found.push_back(const_cast<char*>(word.c_str()));
    }
    found.push_back(nullptr);
    return found;
}

// Runs in the child: executes the program, or writes errno to `tell`.
[[noreturn]] void become(char* const* arguments, char** variables, const Pipe& out, const Pipe& err,
                         int tell) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing > 0) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    } else if (nothing < 0) {
        close(STDIN_FILENO);
    }
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
    environ = variables;
    execvp(arguments[0], arguments);
    const int error = errno;
    static_cast<void>(write_all(tell, {reinterpret_cast<const char*>(&error), sizeof error}));
    _exit(kNotStarted);
}

// Reason why a program could not be started, with details about an existing file.
std::string reason(const std::string& program, int error) {
    if (error == ENOENT && program.find('/') != std::string::npos &&
        access(program.c_str(), F_OK) == 0) {
        return "the interpreter or dynamic linker that it names is not there";
    }
    return std::strerror(error);
}

}  // namespace

std::string Wanted::mark() const {
    for (const std::string& variable : variables) {
        if (variable.starts_with(kMark)) {
            return variable;
        }
    }
    return {};
}

void Wanted::add(const std::vector<std::string>& defaults) {
    std::set<std::string> names;
    for (const std::string& variable : variables) {
        names.insert(variable.substr(0, variable.find('=')));
    }
    for (const std::string& variable : defaults) {
        if (names.insert(variable.substr(0, variable.find('='))).second) {
            variables.push_back(variable);
        }
    }
}

Wanted parsed(std::string_view payload) {
    Wanted wanted;
    const std::uint32_t count = take_u32(payload);
    while (!payload.empty()) {
        const auto end = payload.find('\0');
        auto& words = wanted.arguments.size() < count ? wanted.arguments : wanted.variables;
        words.emplace_back(payload.substr(0, end));
        payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
    }
    return wanted;
}

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

Started start(const Wanted& wanted) {
    Started started;
    if (wanted.arguments.empty()) {
        return {.error = EINVAL, .why = "no program is named"};
    }
    Pipe out;
    Pipe err;
    Pipe tell;
    if (!open_pipe(out) || !open_pipe(err) || !open_pipe(tell)) {
        started.error = errno;
    } else {
        // Made before fork(2), since the child may only call a few functions.
        const std::vector<char*> arguments = pointers(wanted.arguments);
        std::vector<char*> variables = pointers(wanted.variables);
        started.at_ns = now_ns();
        started.pid = fork();
        if (started.pid == 0) {
            become(arguments.data(), variables.data(), out, err, tell.write);
        }
        started.error = started.pid < 0 ? errno : 0;
    }
    if (started.error == 0) {
        close(tell.write);
        tell.write = -1;
        int said = 0;
        if (read(tell.read, &said, sizeof said) == sizeof said) {
            started.error = said;
        }
    }
    shut(tell);
    if (started.error != 0) {
        started.why = reason(wanted.arguments.front(), started.error);
        started.pid = -1;
        shut(out);
        shut(err);
        return started;
    }
    close(out.write);
    close(err.write);
    for (const int handle : {out.read, err.read}) {
        fcntl(handle, F_SETFL, O_NONBLOCK);
    }
    started.out = out.read;
    started.err = err.read;
    return started;
}

}  // namespace aferir::inside
