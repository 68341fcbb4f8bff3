#pragma once

#include <cstdint>
#include <string>

#include "network_stream/network_stream.hpp"

namespace aferir {

/// A socket that is closed with its owner.
class Socket {
  public:
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    Socket& operator=(Socket&& other) = delete;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    [[nodiscard]] int get() const { return descriptor_; }

  private:
    int descriptor_;
};

/// Waits for connections on every address. Errors: std::runtime_error.
Socket listen_on(const StreamOptions& options);

/// Connects, trying again until `deadline_s`, for a test network may need a moment to come up.
/// Errors: std::runtime_error.
Socket connect_to(const std::string& address, const StreamOptions& options, double deadline_s);

void set_nonblocking(const Socket& socket);

/// What the last system call said, as an error with `what` in front.
[[noreturn]] void fail(const std::string& what);

}  // namespace aferir
