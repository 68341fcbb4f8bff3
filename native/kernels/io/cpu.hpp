#pragma once

namespace aferir::io {

/// CPU time in seconds that a process has used, with all its threads.
struct CpuTime {
    double user_s = 0;
    double system_s = 0;

    CpuTime& operator+=(const CpuTime& other);
};

CpuTime operator-(const CpuTime& after, const CpuTime& before);

/// CPU time of this process so far (getrusage(2)).
CpuTime cpu_now();

}  // namespace aferir::io
