// RVEC as a std::chrono clock: aferir::rvec_clock::now(), steady and strictly increasing.
#ifndef AFERIR_RVEC_HPP
#define AFERIR_RVEC_HPP

#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "aferir/rvec.h"

namespace aferir {

class rvec_error : public std::runtime_error {
  public:
    explicit rvec_error(int status) : std::runtime_error(rvec_strerror(status)), status_(status) {}
    int status() const noexcept { return status_; }

  private:
    int status_;
};

// One timeline for the process, opened at the first use; every thread gets its own reader.
class rvec_clock {
  public:
    using rep = std::int64_t;
    using period = std::nano;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<rvec_clock>;
    static constexpr bool is_steady = true;

    static time_point now() {
        return time_point(duration(static_cast<rep>(rvec_read(&reader().clock))));
    }

    static ::rvec* timeline() {
        static const process shared;
        return shared.handle;
    }

  private:
    struct process {
        ::rvec* handle = nullptr;
        process() {
            if (int status = rvec_open(&handle, nullptr); status != RVEC_OK) {
                throw rvec_error(status);
            }
        }
        process(const process&) = delete;
        process& operator=(const process&) = delete;
        // Never closed: other threads' destructors may still read the time at exit.
    };

    struct thread_reader {
        ::rvec_clock clock;
        thread_reader() { rvec_attach_process(timeline(), &clock); }
    };

    static thread_reader& reader() {
        static thread_local thread_reader own;
        return own;
    }
};

}  // namespace aferir

#endif
