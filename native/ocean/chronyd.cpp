#include "ocean/chronyd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "common/arguments.hpp"
#include "common/descriptor.hpp"

namespace aferir::ocean {
namespace {

constexpr const char* kLog = "/run/log/measurements.log";
constexpr int kAttempts = 600;
constexpr useconds_t kPauseUs = 20000;

/// A /run of this process and its children alone, which goes with them.
void hide_run() {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("run", "/run", "tmpfs", 0, nullptr) != 0) {
        throw UsageError("chronyd takes root");
    }
}

/// It stays root, because a change of user would cancel the request to be ended with us (prctl(2)).
[[noreturn]] void become(const std::vector<std::string>& words, pid_t parent) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (const auto& word : words) {
        pointers.push_back(const_cast<char*>(word.c_str()));
    }
    pointers.push_back(nullptr);
    const int nothing = open("/dev/null", O_RDWR);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || nothing < 0) {
        _exit(127);
    }
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execvp(pointers[0], pointers.data());
    execv("/usr/sbin/chronyd", pointers.data());
    _exit(127);
}

/// Whether a socket of that port is in the table, whose second word is its own address (proc(5)).
bool names_port(const char* table, int port) {
    std::array<char, 8> wanted{};
    std::snprintf(wanted.data(), wanted.size(), ":%04X", static_cast<unsigned>(port));
    std::ifstream lines(table);
    std::string number;
    std::string address;
    for (std::string rest; lines >> number >> address && std::getline(lines, rest);) {
        if (address.ends_with(wanted.data())) {
            return true;
        }
    }
    return false;
}

}  // namespace

Chronyd::Chronyd(const std::vector<std::string>& directives, bool steers) {
    hide_run();
    std::vector<std::string> words{"chronyd", "-d", "-L", "2", "-u", "root"};
    if (!steers) {
        words.emplace_back("-x");
    }
    words.insert(words.end(), directives.begin(), directives.end());
    for (const char* const one : {"cmdport 0", "bindcmdaddress /", "pidfile /run/pid",
                                  "logdir /run/log", "log rawmeasurements measurements"}) {
        words.emplace_back(one);
    }
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
        become(words, parent);
    }
}

Chronyd::~Chronyd() {
    if (pid_ > 0) {
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
}

bool Chronyd::runs() {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = -1;
    }
    return pid_ > 0;
}

void Chronyd::wait_for_port(int port) {
    for (int i = 0; i < kAttempts && runs(); ++i) {
        if (names_port("/proc/self/net/udp", port) || names_port("/proc/self/net/udp6", port)) {
            return;
        }
        usleep(kPauseUs);
    }
    throw UsageError("chronyd did not start: is chrony installed on all hosts?");
}

void Chronyd::wait_for_end() const {
    const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0},
                                  pollfd{process.number(), POLLIN, 0}};
    while (poll(sources.data(), sources.size(), -1) < 0) {
    }
    if (sources[0].revents == 0) {
        throw UsageError("chronyd ended: is chrony installed on all hosts?");
    }
}

long long Chronyd::wake_ups() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    constexpr std::string_view kName = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(kName)) {
            return std::atoll(line.c_str() + kName.size());
        }
    }
    return 0;
}

long long Chronyd::measurements() {
    std::ifstream log(kLog);
    long long found = 0;
    for (std::string line; std::getline(log, line);) {  // those of a heading begin otherwise
        found += !line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) != 0 ? 1 : 0;
    }
    return found;
}

std::string keeper_of_clock() {
    constexpr std::array<std::string_view, 4> kKeepers{"chronyd", "ntpd", "systemd-timesyn",
                                                       "openntpd"};
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm") >> std::ws, name);
        if (std::find(kKeepers.begin(), kKeepers.end(), name) != kKeepers.end()) {
            return name;
        }
    }
    return "";
}

}  // namespace aferir::ocean
