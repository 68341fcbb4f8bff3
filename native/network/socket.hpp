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

/// The network, or the other end, failed; the message has the remedy.
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
    std::chrono::seconds patience{30};  ///< time limit of each call that waits for the other end
    int buffer_bytes = 0;               ///< size of both socket buffers; 0: as tuned by the kernel
};

/// One TCP connection; a `Line`. No call waits longer than `patience`.
class Connection {
  public:
    Connection(Descriptor socket, const SocketOptions& options, std::string other_end);

    void send(std::span<const std::byte> bytes);
    void receive(std::span<std::byte> bytes);
    /// Sends and receives at once, by non-blocking calls and poll(2), as event-driven programs do.
    void exchange(std::span<const std::byte> out, std::span<std::byte> in);

    void send_frame(const Frame& frame);
    Frame receive_frame();
    /// Receives a frame of that kind. Errors: NetworkError with the reason if it is `Refused`;
    /// ProtocolError for any other kind.
    template <typename Kind>
    Kind expect() {
        return expected<Kind>(receive_frame());
    }

    /// Makes the call that waits for this connection fail.
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
    // Sends without waiting, and removes what was sent from the span. Returns whether that was
    // anything.
    bool send_some(std::span<const std::byte>& bytes);
    bool receive_some(std::span<std::byte>& bytes);
    void wait(bool to_send, bool to_receive);

    Descriptor socket_;
    std::chrono::seconds patience_;
    std::string other_end_;
};

/// Connects to a server. Errors: NetworkError with the remedy.
Connection connect_to(const Address& address, const SocketOptions& options);

/// A listening socket.
class Listener {
  public:
    Listener(const Address& address, const SocketOptions& options);
    /// Accepts the next connection, with its address.
    Connection accept(const SocketOptions& options);
    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Makes `accept` fail in the thread that waits there.
    void abort();

  private:
    Descriptor socket_;
    std::uint16_t port_ = 0;
};

/// Moves the calling thread into the network namespace of that name (ip-netns(8)); does nothing for
/// an empty name. Needs root.
void enter_network_namespace(const std::string& name);

}  // namespace aferir::network
