#include "loadgen/socket.hpp"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace aferir::loadgen {

namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 22;

Nanoseconds in_nanoseconds(const timespec& time) {
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Converts a stamp: the kernel stamps arrivals in CLOCK_REALTIME.
Nanoseconds in_monotonic(const timespec& real) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return monotonic_now() - (in_nanoseconds(now) - in_nanoseconds(real));
}

Nanoseconds stamp_of(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
            scm_timestamping stamps{};
            std::memcpy(&stamps, CMSG_DATA(part), sizeof stamps);
            if (stamps.ts[0].tv_sec != 0) {
                return std::min(in_monotonic(stamps.ts[0]), monotonic_now());
            }
        }
    }
    return monotonic_now();
}

Received receive_once(const Descriptor& socket, iovec bytes, int flags) {
    alignas(cmsghdr) std::array<char, 256> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t taken = recvmsg(socket.number(), &message, flags | MSG_DONTWAIT);
    if (taken > 0) {
        return {taken, stamp_of(message), false};
    }
    return {0, 0, taken == 0 || (errno != EAGAIN && errno != EINTR)};
}

}  // namespace

Nanoseconds monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return in_nanoseconds(now);
}

Descriptor connect_to(const Target& target) {
    Descriptor made(
        ::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made.open()) {
        return made;
    }
    const int yes = 1;
    const int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(made.number(), SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
    const auto* address = reinterpret_cast<const sockaddr*>(&target.address);
    if (connect(made.number(), address, target.length) != 0 && errno != EINPROGRESS) {
        const int reason = errno;
        made.close();
        errno = reason;
    }
    return made;
}

bool send_some(const Descriptor& socket, std::string& out) {
    while (!out.empty()) {
        const ssize_t sent = send(socket.number(), out.data(), out.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
        }
        out.erase(0, static_cast<std::size_t>(sent));
    }
    return true;
}

Received receive(const Descriptor& socket, std::span<char> buffer) {
    return receive_once(socket, {buffer.data(), buffer.size()}, 0);
}

Received discard(const Descriptor& socket) {
    // tcp(7): MSG_TRUNC drops the bytes instead of storing them. The buffer stays untouched, and so
    // takes no memory.
    static std::array<char, kMostAtOnce> untouched;
    return receive_once(socket, {untouched.data(), untouched.size()}, MSG_TRUNC);
}

void wake_at(const Descriptor& socket, int bytes) {
    setsockopt(socket.number(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

}  // namespace aferir::loadgen
