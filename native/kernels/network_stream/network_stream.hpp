#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aferir {

/// Options of both ends.
struct StreamOptions {
    std::vector<std::string> to;
    std::string ready;
    std::uint16_t port = 0;
    int connections = 1;
    double seconds = 0;
    double interval_s = 0;
    double limit_s = 0;
    bool mptcp = false;
};

/// Sends on all connections for `seconds`, waits until the other end has confirmed every byte, and
/// returns one line of JSON. Errors: std::runtime_error.
std::string send_streams(const StreamOptions& options);

/// Accepts all connections, receives until each has ended, and returns one line of JSON. Errors:
/// std::runtime_error.
std::string receive_streams(const StreamOptions& options);

/// The whole program except `main`; returns the exit code.
int network_stream(std::span<const std::string_view> given, std::FILE* out, std::FILE* err);

}  // namespace aferir
