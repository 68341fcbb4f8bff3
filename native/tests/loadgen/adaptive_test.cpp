// Viewers of a video in segments with real sockets, against a server that ends connections.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "loadgen/engine.hpp"
#include "loadgen/report.hpp"
#include "loopback.hpp"

namespace aferir::loadgen {
namespace {

constexpr std::string_view kManifest = R"(<MPD mediaPresentationDuration="PT3S"><Period>
<AdaptationSet contentType="video"><SegmentTemplate duration="1" initialization="i" media="$Number$"/>
<Representation id="v" bandwidth="80000"/></AdaptationSet></Period></MPD>)";
constexpr std::size_t kSegment = 10'000;

/// Serves the manifest, and anything else as a segment; ends a connection, without saying so, after
/// some requests.
class SegmentServer {
  public:
    SegmentServer(std::string manifest, int requests)
        : manifest_(std::move(manifest)), requests_(requests) {
        listening_ = listen_on_loopback(port_);
        accepting_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
    }

    [[nodiscard]] Settings settings() const {
        Settings made;
        made.start = *parse_url("http://127.0.0.1:" + std::to_string(port_) + "/a/video.mpd");
        made.startup_s = 1.0;
        made.patience = made.silence = 600 * kSecond;
        made.rule = by_throughput;
        made.most_buffer_s = 2.0;
        return made;
    }
    [[nodiscard]] int connections() const { return connections_; }
    [[nodiscard]] int served() const { return served_; }

  private:
    void accept_all(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd one{listening_.number(), POLLIN, 0};
            if (poll(&one, 1, 20) == 1) {
                const int fd = accept(listening_.number(), nullptr, nullptr);
                ++connections_;
                serving_.emplace_back([this, fd] { serve(Descriptor(fd)); });
            }
        }
    }

    void serve(const Descriptor& to) {
        std::array<char, 2048> buffer{};
        for (int k = 0; k < requests_; ++k) {
            const ssize_t got = recv(to.number(), buffer.data(), buffer.size(), 0);
            if (got <= 0) {
                return;
            }
            const std::string_view asked(buffer.data(), static_cast<std::size_t>(got));
            const std::string body =
                asked.starts_with("GET /a/video.mpd ")
                    ? manifest_
                    : std::string(asked.starts_with("GET /a/i ") ? 7 : kSegment, 'v');
            const std::string text =
                "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body;
            ++served_;
            send(to.number(), text.data(), text.size(), MSG_NOSIGNAL);
        }
    }

    std::string manifest_;
    int requests_;
    Descriptor listening_;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<int> served_ = 0;
    std::vector<std::jthread> serving_;
    std::jthread accepting_;
};

TEST(Adaptive, AViewerTakesEverySegmentOnceOverOneConnectionOrMany) {
    for (const int requests : {1, 2, 100}) {
        const SegmentServer server(std::string(kManifest), requests);
        const std::vector<Arrival> two(2);
        const auto run = run_clients(server.settings(), two);
        for (const Client& client : run.clients) {
            ASSERT_EQ(client.outcome(), Outcome::kServed) << client.reason();
            EXPECT_EQ(client.received(), 3 * kSegment + 7);
            EXPECT_TRUE(client.playback()->complete());
        }
        EXPECT_EQ(server.served(), 2 * 5);
        EXPECT_EQ(server.connections(), 2 * ((5 + requests - 1) / requests));
        // The third segment has to wait until the buffer of two has room for it.
        EXPECT_GE(run.ended - run.began, kSecond / 2);
        const std::string said = summary(run);
        EXPECT_NE(said.find("\"rates_bps\":[80000.0"), std::string::npos) << said;
        EXPECT_NE(said.find("\"seconds_at_rate\":[6.0"), std::string::npos) << said;
    }
}

TEST(Adaptive, WhatIsNoManifestOrEndsTooEarlyIsAnOutcome) {
    const std::vector<Arrival> one(1);
    const SegmentServer wrong("no manifest", 9);
    const auto refused = run_clients(wrong.settings(), one);
    EXPECT_EQ(refused.clients[0].outcome(), Outcome::kFailed);
    EXPECT_NE(refused.clients[0].reason().find("not understood"), std::string::npos);
    const SegmentServer silent(std::string(kManifest), 0);
    EXPECT_EQ(run_clients(silent.settings(), one).clients[0].outcome(), Outcome::kFailed);
}

TEST(Adaptive, AViewerWhoStopsWatchingWhileItWaitsHasAbandoned) {
    const SegmentServer server(std::string(kManifest), 100);
    const std::vector<Arrival> one{{0, kSecond / 10}};
    const auto run = run_clients(server.settings(), one);
    EXPECT_EQ(run.clients[0].outcome(), Outcome::kAbandoned);
    EXPECT_EQ(run.clients[0].received(), 2 * kSegment + 7);
}

}  // namespace
}  // namespace aferir::loadgen
