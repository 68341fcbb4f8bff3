#include "io/cpu.hpp"

#include <sys/resource.h>

namespace aferir::io {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

CpuTime& CpuTime::operator+=(const CpuTime& other) {
    user_s += other.user_s;
    system_s += other.system_s;
    return *this;
}

CpuTime operator-(const CpuTime& after, const CpuTime& before) {
    return {after.user_s - before.user_s, after.system_s - before.system_s};
}

CpuTime cpu_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {seconds_of(usage.ru_utime), seconds_of(usage.ru_stime)};
}

}  // namespace aferir::io
