#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "network/client.hpp"
#include "network/server.hpp"

namespace aferir::network {
namespace {

/// A server in threads of this process, and what it reported.
class Served {
  public:
    explicit Served(ServerOptions options = {}) : server_(reporting(std::move(options))) {
        thread_ = std::jthread([this] { server_.serve(); });
    }
    ~Served() { server_.stop(); }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    [[nodiscard]] Address address() const { return {"127.0.0.1", server_.port()}; }
    [[nodiscard]] ClientOptions client() const {
        ClientOptions options;
        options.server = address();
        options.most_bytes = 1 << 20;
        return options;
    }
    std::string reported() {
        const std::lock_guard lock(mutex_);
        return reported_;
    }
    /// Waits for a report that holds `part`, for as long as the test may take.
    void await_report(const std::string& part) {
        while (reported().find(part) == std::string::npos) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

  private:
    ServerOptions reporting(ServerOptions options) {
        options.report = [this](std::string_view why) {
            const std::lock_guard lock(mutex_);
            reported_ += std::string(why) + "\n";
        };
        return options;
    }

    std::mutex mutex_;
    std::string reported_;
    Server server_;
    std::jthread thread_;
};

std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

constexpr Mode kTcpModes[] = {Mode::kBlocking, Mode::kAsync, Mode::kBidirectional, Mode::kStream};

TEST(Tcp, EveryModeCarriesEverySizeAndVerifiesIt) {
    Served served;
    TcpTransport transport(served.client());
    for (const auto mode : kTcpModes) {
        for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1} << 20U}) {
            const auto result = transport.run({mode, bytes, 5, 7});
            EXPECT_GT(result.mean_s, 0);
            EXPECT_EQ(result.rounds.total(), 5U);
        }
    }
    EXPECT_EQ(served.reported(), "");
}

TEST(Tcp, PairsRunAtOnce) {
    Served served;
    auto options = served.client();
    options.pairs = 4;
    TcpTransport transport(options);
    const auto result = transport.run({Mode::kBidirectional, 1000, 20, 7});
    EXPECT_EQ(result.rounds.total(), 80U);
    EXPECT_GE(result.longest_s, result.mean_s);
}

TEST(Tcp, OneWayDelaysByTheGlobalClockHoldTheRoundTrip) {
    Served served;
    for (const auto clock : {SharedClock::kCounter, SharedClock::kRgap}) {
        auto options = served.client();
        options.clock = clock;
        TcpTransport transport(options);
        if (transport.clock() != clock) {
            continue;  // this processor's counter is not trusted
        }
        const auto delays = transport.run_stamped({Mode::kBlocking, 100, 50, 7, true});
        ASSERT_TRUE(delays.has_value());
        ASSERT_EQ(delays->there_s.size(), 50U);
        const double slack = delays->bound_s.value_or(0);
        for (std::size_t i = 0; i < 50; ++i) {
            EXPECT_GT(delays->there_s[i], -slack);
            EXPECT_GT(delays->back_s[i], -slack);
        }
    }
    auto without = served.client();
    without.clock = SharedClock::kNone;
    TcpTransport transport(without);
    EXPECT_FALSE(transport.run_stamped({Mode::kBlocking, 100, 5, 7, true}).has_value());
}

TEST(Tcp, AnotherTokenIsTurnedAway) {
    ServerOptions options;
    options.token = token_of("right");
    Served served(options);
    auto client = served.client();
    client.token = token_of("wrong");
    EXPECT_NE(failure_of([&] { TcpTransport transport(client); }).find("another --token"),
              std::string::npos);
    client.token = token_of("right");
    TcpTransport transport(client);
    EXPECT_EQ(transport.run({Mode::kBlocking, 8, 1, 7}).rounds.total(), 1U);
}

TEST(Tcp, LargerMessagesThanAllowedAreRefused) {
    ServerOptions options;
    options.most_bytes = 1000;
    Served served(options);
    TcpTransport transport(served.client());
    EXPECT_NE(failure_of([&] { transport.run({Mode::kBlocking, 1001, 1, 7}); }).find("1000 bytes"),
              std::string::npos);
}

TEST(Tcp, NobodyListeningIsSaidWithTheRemedy) {
    ClientOptions options;
    options.server = {"127.0.0.1", 1};
    EXPECT_NE(failure_of([&] { TcpTransport transport(options); }).find("net-sweep --serve"),
              std::string::npos);
    options.server.host = "no-address";
    EXPECT_NE(failure_of([&] { TcpTransport transport(options); }).find("getent"),
              std::string::npos);
}

/// A server that sends what the test tells it to, and then nothing.
class Rogue {
  public:
    explicit Rogue(std::function<void(Connection&)> behaviour)
        : listener_({"127.0.0.1", 0}, {}), thread_([this, behaviour = std::move(behaviour)] {
              auto connection = listener_.accept({});
              failure_of([&] { behaviour(connection); });  // the client may be gone
          }) {}
    [[nodiscard]] ClientOptions client(
        std::chrono::seconds patience = std::chrono::minutes(1)) const {
        ClientOptions options;
        options.server = {"127.0.0.1", listener_.port()};
        options.socket.patience = patience;
        options.most_bytes = 1000;
        return options;
    }

  private:
    Listener listener_;
    std::jthread thread_;
};

TEST(Tcp, AServerThatDiesInATrialEndsIt) {
    const Rogue rogue([](Connection& connection) {
        connection.receive_frame();
        connection.send_frame(Welcome{});
        connection.receive_frame();
        connection.send_frame(Ready{});
    });
    TcpTransport transport(rogue.client());
    EXPECT_NE(failure_of([&] { transport.run({Mode::kBlocking, 100, 5, 7}); }).find("lost"),
              std::string::npos);
}

TEST(Tcp, AServerThatFallsSilentEndsItAfterTheTimeOut) {
    for (const auto mode : {Mode::kBlocking, Mode::kAsync}) {
        std::atomic<bool> done{false};
        const Rogue rogue([&](Connection& connection) {
            connection.receive_frame();
            connection.send_frame(Welcome{});
            connection.receive_frame();
            connection.send_frame(Ready{});
            while (!done) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
        // On a busy machine it is silent for as long before it has welcomed its client.
        const auto failure = failure_of([&] {
            TcpTransport transport(rogue.client(std::chrono::seconds(1)));
            transport.run({mode, 100, 5, 7});
        });
        EXPECT_NE(failure.find("silent for 1 s"), std::string::npos) << failure;
        done = true;
    }
}

TEST(Tcp, DataThatTheServerSpoilsIsAnErrorAndNoNumber) {
    const Rogue rogue([](Connection& connection) {
        connection.receive_frame();
        connection.send_frame(Welcome{});
        connection.receive_frame();
        connection.send_frame(Ready{});
        std::array<std::byte, 100> message{};
        connection.receive(message);
        message[17] ^= std::byte{1};
        connection.send(message);
        connection.send_frame(Done{});
    });
    TcpTransport transport(rogue.client());
    EXPECT_THROW(transport.run({Mode::kBlocking, 100, 1, 7}), CorruptData);
}

TEST(Tcp, AServerOfAnotherProtocolIsNamed) {
    const Rogue rogue([](Connection& connection) {
        connection.send(std::as_bytes(std::span(std::string_view("HTTP/1.1 400 Bad Request\r\n"))));
    });
    EXPECT_NE(failure_of([&] { TcpTransport transport(rogue.client()); }).find("no net-sweep"),
              std::string::npos);
}

/// A client that sends these bytes and closes.
void send_raw(const Address& address, std::span<const std::byte> bytes) {
    auto connection = connect_to(address, {});
    connection.send(bytes);
}

TEST(Tcp, AServerOutlivesWhateverClientsSend) {
    Served served;
    std::mt19937_64 random(3);
    const auto hello = encode(Hello{});
    for (int i = 0; i < 200; ++i) {
        auto bytes = hello;
        for (int k = 0; k < 3; ++k) {
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        }
        bytes.resize(random() % (bytes.size() + 1));
        send_raw(served.address(), bytes);
    }
    send_raw(served.address(),
             std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))));
    served.await_report("no net-sweep");
    TcpTransport transport(served.client());
    EXPECT_EQ(transport.run({Mode::kBlocking, 8, 3, 7}).rounds.total(), 3U);
}

TEST(Wire, AnotherVersionIsNamed) {
    auto bytes = encode(Bye{});
    bytes[4] = std::byte{9};
    const std::span<const std::byte> all = bytes;
    EXPECT_NE(failure_of([&] { parse_header(all.first<kHeaderBytes>()); }).find("version 9"),
              std::string::npos);
}

TEST(Wire, NothingUnprintableIsHandedOn) {
    const auto bytes = encode(Refused{"a\x1b[31mb\n"});
    const std::span<const std::byte> all = bytes;
    const auto frame =
        parse_body(parse_header(all.first<kHeaderBytes>()), all.subspan(kHeaderBytes));
    EXPECT_EQ(std::get<Refused>(frame).reason, "a?[31mb?");
}

}  // namespace
}  // namespace aferir::network
