#include "loadgen/limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "common/arguments.hpp"

namespace aferir::loadgen {

namespace {

constexpr rlim_t kSpareFiles = 32;

}  // namespace

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void allow_files(std::size_t connections) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t needed = connections + kSpareFiles;
    if (limit.rlim_cur >= needed) {
        return;
    }
    limit.rlim_cur = needed;
    limit.rlim_max = std::max(limit.rlim_max, needed);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        throw UsageError(
            std::to_string(connections) + " connections at once are not allowed here; " +
            "raise the limit of open files (ulimit -n " + std::to_string(needed) + ")");
    }
}

}  // namespace aferir::loadgen
