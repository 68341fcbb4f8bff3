#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>

#include "common/descriptor.hpp"

namespace aferir::loadgen {

/// A socket that is bound to a free port of 127.0.0.1, which is written to `port`. No other program
/// gets the port; whoever connects is refused until the socket listens.
inline Descriptor bind_to_loopback(std::uint16_t& port) {
    Descriptor bound(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(bound.number(), plain, length), 0);
    getsockname(bound.number(), plain, &length);
    port = ntohs(address.sin_port);
    return bound;
}

/// A socket that listens at a free port of 127.0.0.1, which is written to `port`.
inline Descriptor listen_on_loopback(std::uint16_t& port) {
    constexpr int kMostWaiting = 512;
    Descriptor listening = bind_to_loopback(port);
    EXPECT_EQ(listen(listening.number(), kMostWaiting), 0);
    return listening;
}

}  // namespace aferir::loadgen
