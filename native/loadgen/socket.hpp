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

/// What one look at a socket found.
struct Received {
    std::int64_t bytes = 0;
    /// When the last of them reached this machine, by the kernel's stamp.
    Nanoseconds at = 0;
    /// The other end has closed, or the connection is broken.
    bool ended = false;
};

/// A TCP connection under way, not blocking, that has the kernel stamp what arrives.
/// Errors: a Descriptor that is not open; errno says why.
Descriptor connect_to(const Target& target);

/// Sends what is left of `out`. False: the connection is broken.
bool send_some(const Descriptor& socket, std::string& out);

/// Reads into `buffer` once.
Received receive(const Descriptor& socket, std::span<char> buffer);

/// Takes what is there out of the socket without copying it: the kernel throws it away.
Received discard(const Descriptor& socket);

/// The socket is readable only once so many bytes are there, or the connection has ended.
void wake_at(const Descriptor& socket, int bytes);

}  // namespace aferir::loadgen
