#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "network/socket.hpp"
#include "network/timeline.hpp"

struct rgap_server;

namespace aferir::network {

using Token = std::array<std::byte, kTokenBytes>;

/// Converts a text. Errors: UsageError if it is longer than a token.
Token token_of(std::string_view text);

struct ServerOptions {
    Address address;  ///< port 0: any free one
    SocketOptions socket;
    Token token{};
    std::uint64_t most_bytes = kMostMessageBytes;  ///< of a message
    /// called with the reason when a session has failed
    std::function<void(std::string_view)> report;
};

/// Serves any number of clients, each connection in a thread of its own.
class Server {
  public:
    explicit Server(ServerOptions options);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Ends all sessions.
    ~Server();

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    /// Serves until `stop` is called from another thread.
    void serve();
    void stop();

  private:
    struct Session {
        Connection connection;
        std::atomic<bool> over{false};
        std::jthread thread;
    };

    void admit(Connection connection);
    void run(Connection& connection);
    void answer(Connection& connection);
    void welcome(Connection& connection);
    std::uint16_t clock_port();

    ServerOptions options_;
    Timeline timeline_;
    Listener listener_;
    std::atomic<bool> stopping_{false};
    std::mutex clock_mutex_;
    std::unique_ptr<rgap_server, void (*)(rgap_server*)> clock_;
    std::list<Session> sessions_;
};

}  // namespace aferir::network
