#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/server.hpp"
#include "network/socket.hpp"
#include "network/sweep.hpp"
#include "network/timeline.hpp"

struct rgap;

namespace aferir::network {

struct ClientOptions {
    Address server;
    SocketOptions socket;
    Token token{};
    std::uint64_t pairs = 1;
    std::uint64_t most_bytes = 0;  ///< of a message
    /// Way of measuring one-way delays; by default, one that both ends support.
    std::optional<SharedClock> clock;
};

/// One connection for each pair. Several connections are served by a thread each during a trial,
/// and all threads begin together.
class TcpTransport : public Transport {
  public:
    /// Connects. Errors: NetworkError, ProtocolError.
    explicit TcpTransport(const ClientOptions& options);
    ~TcpTransport() override;

    TrialResult run(const Trial& trial) override;
    std::optional<Delays> run_stamped(const Trial& trial) override;
    [[nodiscard]] SharedClock clock() const { return clock_; }

  private:
    struct Pair {
        Connection connection;
        Buffers buffers;
    };
    struct Run;

    void introduce(Connection& connection, const ClientOptions& options, bool first);
    void choose_clock(const Welcome& welcome, const ClientOptions& options);
    void take_part(std::size_t pair, Run& run);
    void measure(Pair& pair, Run& run, bool stamped);
    void run_all(Run& run);
    std::optional<Delays> delays_of(const Stamps& stamps);

    Timeline timeline_;
    std::vector<Pair> pairs_;
    SharedClock clock_ = SharedClock::kNone;
    std::unique_ptr<rgap, void (*)(rgap*)> global_;
};

}  // namespace aferir::network
