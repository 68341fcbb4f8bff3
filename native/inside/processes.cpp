#include "inside/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

namespace aferir::inside {

namespace {

constexpr int kMostLooks = 200;
constexpr int kPauseUs = 1000;
constexpr std::size_t kProcPiece = 4096;
constexpr int kBetween = 15;  // fields of /proc/PID/stat between the session and the start time

struct Relations {
    pid_t parent = 0;
    pid_t session = 0;
    unsigned long long started = 0;  // in ticks since boot
};

// A stream would throw if the process ends meanwhile (ESRCH).
std::string content(const std::string& path) {
    std::string found;
    const int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::array<char, kProcPiece> piece{};
    for (ssize_t size = 1; handle >= 0 && size > 0;) {
        size = read(handle, piece.data(), piece.size());
        found.append(piece.data(), static_cast<std::size_t>(size > 0 ? size : 0));
    }
    if (handle >= 0) {
        close(handle);
    }
    return found;
}

// Relations of a running process; nothing for a zombie, which cannot be killed any more (proc(5),
// /proc/PID/stat).
std::optional<Relations> relations(pid_t pid) {
    const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(stat.substr(name_end + 1));
    char state = 0;
    pid_t group = 0;
    Relations found;
    fields >> state >> found.parent >> group >> found.session;
    std::string ignored;
    for (int k = 0; k < kBetween; ++k) {
        fields >> ignored;
    }
    fields >> found.started;
    if (!fields || state == 'Z' || state == 'X') {
        return std::nullopt;
    }
    return found;
}

std::map<pid_t, Relations> living() {
    std::map<pid_t, Relations> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
    if (!folder) {
        return found;
    }
    while (const dirent* entry = readdir(folder.get())) {
        const std::string_view name = &entry->d_name[0];
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || end != name.data() + name.size() || pid == getpid()) {
            continue;
        }
        if (const auto known = relations(pid)) {
            found[pid] = *known;
        }
    }
    return found;
}

bool is_marked(pid_t pid, const std::string& mark) {
    if (mark.empty()) {
        return false;
    }
    const std::string variables = '\0' + content("/proc/" + std::to_string(pid) + "/environ");
    return variables.find('\0' + mark + '\0') != std::string::npos;
}

bool descends(pid_t pid, pid_t first, const std::map<pid_t, Relations>& all) {
    for (std::size_t steps = 0; steps <= all.size(); ++steps) {
        if (pid == first) {
            return true;
        }
        const auto known = all.find(pid);
        if (known == all.end()) {
            return false;
        }
        pid = known->second.parent;
    }
    return false;
}

/// Whether our child has ended; its ID is not reused before it is waited for.
bool is_gone(pid_t pid) {
    siginfo_t told{};
    return waitid(P_PID, static_cast<id_t>(pid), &told, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           told.si_pid == pid;
}

}  // namespace

std::set<pid_t> of_task(pid_t first, const std::string& mark) {
    std::set<pid_t> found;
    const auto all = living();
    for (const auto& [pid, known] : all) {
        if (known.session == first || descends(pid, first, all) || is_marked(pid, mark)) {
            found.insert(pid);
        }
    }
    return found;
}

void end_task(pid_t first, const std::string& mark, int grace_ms) {
    // Determined now, because once a parent has ended nothing shows whose descendants its children
    // are.
    std::map<pid_t, Relations> known;
    for (const pid_t pid : of_task(first, mark)) {
        if (const auto one = relations(pid)) {
            known[pid] = *one;
        }
    }
    kill(first, SIGTERM);
    for (int left_us = grace_ms * 1000; left_us > 0 && !is_gone(first); left_us -= kPauseUs) {
        usleep(kPauseUs);
    }
    for (const auto& [pid, before] : known) {
        const auto now = relations(pid);  // its ID may be that of another process meanwhile
        if (pid != first && now && now->started == before.started) {
            kill(pid, SIGKILL);
        }
    }
    kill_task(first, mark);
}

void kill_task(pid_t first, const std::string& mark) {
    // Stops the first process, so that it starts no others and does not end, and kills it last:
    // after its death nothing shows whose children they were.
    kill(first, SIGSTOP);
    for (int looks = 0; looks < kMostLooks; ++looks) {
        const std::set<pid_t> found = of_task(first, mark);
        for (const pid_t pid : found) {
            if (pid != first) {
                kill(pid, SIGKILL);
            }
        }
        if (found.empty() || found == std::set<pid_t>{first}) {
            break;
        }
        usleep(kPauseUs);
    }
    kill(-first, SIGKILL);
    kill(first, SIGKILL);
}

}  // namespace aferir::inside
