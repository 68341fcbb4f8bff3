#include "network_stream/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "network_stream/sampler.hpp"

namespace aferir {
namespace {

constexpr int kMptcp = 262;  // IPPROTO_MPTCP, which older C libraries lack
constexpr int kPatienceMs = 1000;

Descriptor make_socket(bool mptcp) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, mptcp ? kMptcp : 0);
    if (descriptor < 0) {
        fail(mptcp ? "this kernel makes no MPTCP socket" : "socket");
    }
    return Descriptor(descriptor);
}

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
        throw std::runtime_error(text + " is no IPv4 address");
    }
    return address;
}

// Not a blocking connect: if a link is not up yet, TCP would retry only after seconds.
bool connected(const Descriptor& socket, const sockaddr_in& address) {
    set_nonblocking(socket);
    if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        0) {
        return true;
    }
    pollfd waiting{socket.number(), POLLOUT, 0};
    if (errno != EINPROGRESS || poll(&waiting, 1, kPatienceMs) != 1) {
        return false;
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
}

}  // namespace

void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

void set_nonblocking(const Descriptor& socket) {
    if (fcntl(socket.number(), F_SETFL, O_NONBLOCK) != 0) {
        fail("fcntl");
    }
}

Descriptor listen_on(const StreamOptions& options) {
    auto socket = make_socket(options.mptcp);
    const int on = 1;
    setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto address = address_of("0.0.0.0", options.port);
    if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(socket.number(), SOMAXCONN) != 0) {
        fail("port " + std::to_string(options.port));
    }
    return socket;
}

Descriptor connect_to(const std::string& address, const StreamOptions& options, double deadline_s) {
    const auto target = address_of(address, options.port);
    for (;;) {
        auto socket = make_socket(options.mptcp);
        if (connected(socket, target)) {
            return socket;
        }
        if (monotonic_s() > deadline_s) {
            fail("no connection to " + address);
        }
        poll(nullptr, 0, 20);
    }
}

}  // namespace aferir
