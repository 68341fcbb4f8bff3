#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>

#include "common/descriptor.hpp"

namespace aferir::loadgen {

/// A socket that listens at a free port of 127.0.0.1, which is written to `port`.
inline Descriptor listen_on_loopback(std::uint16_t& port) {
    constexpr int kMostWaiting = 512;
    Descriptor listening(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listening.number(), plain, length), 0);
    EXPECT_EQ(listen(listening.number(), kMostWaiting), 0);
    getsockname(listening.number(), plain, &length);
    port = ntohs(address.sin_port);
    return listening;
}

}  // namespace aferir::loadgen
