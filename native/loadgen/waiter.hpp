#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>

#include "loadgen/playback.hpp"

namespace aferir::loadgen {

/// Waits for events of an epoll instance, with a timeout in nanoseconds. epoll_pwait2 does so, but
/// is missing before Linux 5.11 and under older seccomp profiles: there, ppoll waits as exactly.
class Waiter {
  public:
    explicit Waiter(int epoll) : epoll_(epoll) {}

    /// Waits, and returns the number of events; 0 after the timeout or a signal. Errors:
    /// std::system_error.
    int wait(std::span<epoll_event> events, Nanoseconds left) {
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        const auto most = static_cast<int>(events.size());
        int count = -1;
        if (has_pwait2_) {
            count = epoll_pwait2(epoll_, events.data(), most, &timeout, nullptr);
            has_pwait2_ = count >= 0 || (errno != ENOSYS && errno != EPERM);
        }
        if (!has_pwait2_) {
            pollfd ready{epoll_, POLLIN, 0};
            count = ppoll(&ready, 1, &timeout, nullptr);
            count = count > 0 ? epoll_wait(epoll_, events.data(), most, 0) : count;
        }
        if (count < 0 && errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), "epoll");
        }
        return std::max(count, 0);
    }

  private:
    int epoll_;
    bool has_pwait2_ = true;
};

}  // namespace aferir::loadgen
