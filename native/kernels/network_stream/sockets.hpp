#pragma once

#include <cstdint>
#include <string>

#include "common/descriptor.hpp"
#include "network_stream/network_stream.hpp"

namespace aferir {

/// Opens a socket that listens on every address. Errors: std::runtime_error.
Descriptor listen_on(const StreamOptions& options);

/// Connects, and retries until `deadline_s`, as a new test network may need a moment. Errors:
/// std::runtime_error.
Descriptor connect_to(const std::string& address, const StreamOptions& options, double deadline_s);

void set_nonblocking(const Descriptor& socket);

/// Throws the error of the last system call, with `what` in front.
[[noreturn]] void fail(const std::string& what);

}  // namespace aferir
