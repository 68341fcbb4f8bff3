#include "network/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace aferir::network {
namespace {

std::string because() { return std::generic_category().message(errno); }

/// A socket address in the form that system calls take.
struct Raw {
    sockaddr_storage storage{};
    socklen_t size = 0;
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

Raw raw_of(const Address& address) {
    Raw raw;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&raw.storage);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&raw.storage);
    if (inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address.port);
        raw.size = sizeof *v4;
    } else if (inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address.port);
        raw.size = sizeof *v6;
    } else {
        throw NetworkError("'" + address.host +
                           "' is no IPv4 or IPv6 address; `getent hosts NAME` tells a name's");
    }
    return raw;
}

std::string text_of(const Address& address) {
    return address.host + " port " + std::to_string(address.port);
}

template <typename Value>
void set(int socket, int level, int option, Value value) {
    // Failure is ignored: if the kernel does not know the option, an error is only noticed later.
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

// Sets sizes of buffers, which must be done before connecting, as the window scale is agreed on
// then.
void set_buffers(int socket, const SocketOptions& options) {
    if (options.buffer_bytes > 0) {
        set(socket, SOL_SOCKET, SO_SNDBUF, options.buffer_bytes);
        set(socket, SOL_SOCKET, SO_RCVBUF, options.buffer_bytes);
    }
}

void connect_within(int socket, const Raw& raw, const SocketOptions& options,
                    const Address& address) {
    const timeval patience{options.patience.count(), 0};
    set(socket, SOL_SOCKET, SO_SNDTIMEO, patience);
    if (connect(socket, raw.get(), raw.size) == 0) {
        return;
    }
    const bool late = errno == EINPROGRESS || errno == ETIMEDOUT || errno == EAGAIN;
    throw NetworkError(
        "cannot connect to " + text_of(address) + ": " + (late ? "no answer" : because()) +
        (errno == ECONNREFUSED ? "; start `net-sweep --serve` there, or is it another port?"
                               : "; can it be reached, and does a firewall let the port through?"));
}

}  // namespace

NetworkError::~NetworkError() = default;

Connection::Connection(Descriptor socket, const SocketOptions& options, std::string other_end)
    : socket_(std::move(socket)), patience_(options.patience), other_end_(std::move(other_end)) {
    const timeval patience{patience_.count(), 0};
    set(socket_.number(), SOL_SOCKET, SO_RCVTIMEO, patience);
    set(socket_.number(), SOL_SOCKET, SO_SNDTIMEO, patience);
    set(socket_.number(), IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket_.number(), IPPROTO_TCP, TCP_USER_TIMEOUT,
        static_cast<unsigned>(patience_.count() * 1000));
}

void Connection::fail(const char* doing) const {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT) {
        throw NetworkError(other_end_ + " has been silent for " +
                           std::to_string(patience_.count()) + " s while " + doing +
                           "; does it still run, and does the network pass messages of this size?");
    }
    throw NetworkError("lost " + other_end_ + " while " + doing + ": " + because() +
                       "; look at what it printed");
}

void Connection::send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        } else if (errno != EINTR) {
            fail("sending");
        }
    }
}

void Connection::receive(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const auto received = recv(socket_.number(), bytes.data(), bytes.size(), 0);
        if (received > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(received));
        } else if (received == 0) {
            errno = ECONNRESET;
            fail("receiving");
        } else if (errno != EINTR) {
            fail("receiving");
        }
    }
}

void Connection::wait(bool to_send, bool to_receive) {
    pollfd asked{socket_.number(),
                 static_cast<short>((to_send ? POLLOUT : 0) | (to_receive ? POLLIN : 0)), 0};
    const auto limit = static_cast<int>(patience_.count() * 1000);
    const int ready = poll(&asked, 1, limit);
    if (ready == 0) {
        errno = ETIMEDOUT;
        fail("exchanging");
    }
    if (ready < 0 && errno != EINTR) {
        fail("exchanging");
    }
}

bool Connection::send_some(std::span<const std::byte>& bytes) {
    const auto sent =
        ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail("sending");
    }
    bytes = bytes.subspan(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    return sent > 0;
}

bool Connection::receive_some(std::span<std::byte>& bytes) {
    const auto received = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received == 0) {
        errno = ECONNRESET;
    }
    if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) {
        fail("receiving");
    }
    bytes = bytes.subspan(received > 0 ? static_cast<std::size_t>(received) : 0);
    return received > 0;
}

void Connection::exchange(std::span<const std::byte> out, std::span<std::byte> in) {
    while (!out.empty() || !in.empty()) {
        const bool sent = !out.empty() && send_some(out);
        const bool received = !in.empty() && receive_some(in);
        if (!sent && !received) {
            wait(!out.empty(), !in.empty());
        }
    }
}

void Connection::send_frame(const Frame& frame) { send(encode(frame)); }

Frame Connection::receive_frame() {
    std::array<std::byte, kHeaderBytes> bytes{};
    receive(bytes);
    const auto header = parse_header(bytes);
    std::vector<std::byte> body(header.length);
    receive(body);
    return parse_body(header, body);
}

void Connection::refuse(const Frame& frame) const {
    if (const auto* refused = std::get_if<Refused>(&frame)) {
        throw NetworkError(other_end_ + " refuses: " + refused->reason);
    }
    throw ProtocolError(other_end_ + " said something out of turn");
}

void Connection::abort() { shutdown(socket_.number(), SHUT_RDWR); }

Connection connect_to(const Address& address, const SocketOptions& options) {
    const auto raw = raw_of(address);
    Descriptor socket(::socket(raw.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) {
        throw NetworkError("no socket: " + because());
    }
    set_buffers(socket.number(), options);
    connect_within(socket.number(), raw, options, address);
    return {std::move(socket), options, "the server at " + text_of(address)};
}

Listener::Listener(const Address& address, const SocketOptions& options) {
    auto raw = raw_of(address);
    socket_ = Descriptor(::socket(raw.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    set(socket_.number(), SOL_SOCKET, SO_REUSEADDR, 1);
    set_buffers(socket_.number(), options);
    if (socket_.number() < 0 || bind(socket_.number(), raw.get(), raw.size) != 0 ||
        listen(socket_.number(), SOMAXCONN) != 0) {
        throw NetworkError("cannot listen on " + text_of(address) + ": " + because() +
                           "; choose another --address or --port");
    }
    auto* const own = reinterpret_cast<sockaddr*>(&raw.storage);
    getsockname(socket_.number(), own, &raw.size);
    // The port is at the same place in either family.
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(&raw.storage)->sin_port);
}

Connection Listener::accept(const SocketOptions& options) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    int number = -1;
    do {
        number = accept4(socket_.number(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
    } while (number < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (number < 0) {
        throw NetworkError("no connection can be accepted: " + because());
    }
    return {Descriptor(number), options, "the client"};
}

void Listener::abort() { shutdown(socket_.number(), SHUT_RDWR); }

void enter_network_namespace(const std::string& name) {
    if (name.empty()) {
        return;
    }
    const auto path = "/run/netns/" + name;
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0 || setns(file.number(), CLONE_NEWNET) != 0) {
        throw NetworkError("cannot enter " + path + ": " + because() +
                           "; `ip netns list` tells which there are, and it needs root");
    }
}

}  // namespace aferir::network
