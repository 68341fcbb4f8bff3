#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "common/descriptor.hpp"
#include "network/wire.hpp"

namespace aferir::network {

/// The network, or the other end, failed; the message says what to do.
class NetworkError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~NetworkError() override;
};

/// A numeric IPv4 or IPv6 address and a port.
struct Address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
};

struct SocketOptions {
    std::chrono::seconds patience{30};  ///< of each call that waits for the other end
    int buffer_bytes = 0;               ///< of both socket buffers; 0: the kernel tunes them
};

/// One TCP connection; a `Line`. No call waits longer than `patience`.
class Connection {
  public:
    Connection(Descriptor socket, const SocketOptions& options, std::string other_end);

    void send(std::span<const std::byte> bytes);
    void receive(std::span<std::byte> bytes);
    /// Both at once, by calls that do not block and poll(2), as event-driven programs do it.
    void exchange(std::span<const std::byte> out, std::span<std::byte> in);

    void send_frame(const Frame& frame);
    Frame receive_frame();
    /// A frame of that kind. Errors: NetworkError with the reason where it is `Refused`;
    /// ProtocolError for any other.
    template <typename Kind>
    Kind expect() {
        return expected<Kind>(receive_frame());
    }

    /// Wakes whoever waits for this connection, which then fails.
    void abort();

  private:
    template <typename Kind>
    Kind expected(Frame frame) {
        if (auto* kind = std::get_if<Kind>(&frame)) {
            return std::move(*kind);
        }
        refuse(frame);
    }
    [[noreturn]] void refuse(const Frame& frame) const;
    [[noreturn]] void fail(const char* doing) const;
    // Without waiting; whether anything moved. What is left is left in the span.
    bool send_some(std::span<const std::byte>& bytes);
    bool receive_some(std::span<std::byte>& bytes);
    void wait(bool to_send, bool to_receive);

    Descriptor socket_;
    std::chrono::seconds patience_;
    std::string other_end_;
};

/// Errors: NetworkError with the remedy.
Connection connect_to(const Address& address, const SocketOptions& options);

/// A socket that listens.
class Listener {
  public:
    Listener(const Address& address, const SocketOptions& options);
    /// The next connection and where it comes from.
    Connection accept(const SocketOptions& options);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Lets `accept` fail in whatever thread waits there.
    void abort();

  private:
    Descriptor socket_;
    std::uint16_t port_ = 0;
};

/// Moves the calling thread into the network namespace of that name (ip-netns(8)); nothing where it
/// is empty. Needs root.
void enter_network_namespace(const std::string& name);

}  // namespace aferir::network
