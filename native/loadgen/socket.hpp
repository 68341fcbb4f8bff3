#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/descriptor.hpp"
#include "loadgen/http.hpp"
#include "loadgen/playback.hpp"

namespace aferir::loadgen {

/// CLOCK_MONOTONIC now.
Nanoseconds monotonic_now();

/// Result of one read from a socket.
struct Received {
    std::int64_t bytes = 0;
    /// Time at which the last of these bytes reached this machine, by the kernel's stamp.
    Nanoseconds at = 0;
    /// The other end has closed, or the connection is broken.
    bool ended = false;
};

/// Starts a TCP connection without blocking; the kernel stamps the data that arrives. Errors: a
/// Descriptor that is not open, and errno.
Descriptor connect_to(const Target& target);

/// Sends as much of `out` as possible, and removes it from there. False: the connection is broken.
bool send_some(const Descriptor& socket, std::string& out);

/// Reads into `buffer` once.
Received receive(const Descriptor& socket, std::span<char> buffer);

/// Removes the data in the socket without copying it: the kernel discards it.
Received discard(const Descriptor& socket);

/// Makes the socket readable only when so many bytes have arrived, or the connection has ended.
void wake_at(const Descriptor& socket, int bytes);

}  // namespace aferir::loadgen
