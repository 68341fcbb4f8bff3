#pragma once

#include <cstdint>
#include <string>

#include "common/descriptor.hpp"
#include "network_stream/network_stream.hpp"

namespace aferir {

/// Waits for connections on every address. Errors: std::runtime_error.
Descriptor listen_on(const StreamOptions& options);

/// Connects, trying again until `deadline_s`, for a test network may need a moment to come up.
/// Errors: std::runtime_error.
Descriptor connect_to(const std::string& address, const StreamOptions& options, double deadline_s);

void set_nonblocking(const Descriptor& socket);

/// What the last system call said, as an error with `what` in front.
[[noreturn]] void fail(const std::string& what);

}  // namespace aferir
