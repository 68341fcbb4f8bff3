#include "common/memory_limits.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace aferir {
namespace {

constexpr auto kUnlimited = std::numeric_limits<std::size_t>::max();

std::optional<std::size_t> read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::size_t bytes = 0;
    // Version 2 of control groups writes "max" if there is no limit: reading a number then fails,
    // as intended.
    if (file >> bytes) {
        return bytes;
    }
    return std::nullopt;
}

std::size_t headroom_of(const std::filesystem::path& group, const char* limit, const char* usage) {
    const auto most = read_bytes(group / limit);
    const auto used = read_bytes(group / usage);
    if (!most || !used) {
        return kUnlimited;
    }
    return *most > *used ? *most - *used : 0;
}

// Inside a container /proc/self/cgroup may name a path that is mounted as the root of what we
// see: ancestors up to the mount point, which is then our own group, are read in any case.
std::size_t least_headroom(const std::filesystem::path& mount, const std::string& group,
                           const char* limit, const char* usage) {
    auto least = headroom_of(mount, limit, usage);
    auto path = std::filesystem::path(group).relative_path();
    while (!path.empty()) {
        least = std::min(least, headroom_of(mount / path, limit, usage));
        path = path.parent_path();
    }
    return least;
}

}  // namespace

std::size_t mem_available_bytes(std::istream& meminfo) {
    std::string name;
    while (meminfo >> name) {
        std::size_t kibibytes = 0;
        if (name == "MemAvailable:" && meminfo >> kibibytes) {
            return kibibytes * 1024;
        }
        meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return kUnlimited;
}

std::size_t cgroup_headroom_bytes(const std::filesystem::path& root) {
    std::ifstream groups(root / "proc/self/cgroup");
    auto least = kUnlimited;
    std::string line;
    while (std::getline(groups, line)) {  // hierarchy:controllers:path
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const auto group = line.substr(second + 1);
        const auto mount = root / "sys/fs/cgroup";
        if (controllers == ",,") {
            least = std::min(least, least_headroom(mount, group, "memory.max", "memory.current"));
            least = std::min(
                least, least_headroom(mount / "unified", group, "memory.max", "memory.current"));
        } else if (controllers.find(",memory,") != std::string::npos) {
            least = std::min(least, least_headroom(mount / "memory", group, "memory.limit_in_bytes",
                                                   "memory.usage_in_bytes"));
        }
    }
    return least;
}

}  // namespace aferir
