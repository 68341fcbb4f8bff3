// Tests answers as real servers give them: the test's own server sends the same bytes, and closes.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "loadgen/engine.hpp"
#include "loadgen/requests.hpp"
#include "loadgen/socket.hpp"
#include "loopback.hpp"

namespace aferir::loadgen {
namespace {

const std::string kGood = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Serves one connection after another, each with one request.
class Responder {
  public:
    using Respond = std::function<std::string(const std::string& request)>;

    explicit Responder(Respond respond) : respond_(std::move(respond)) {
        listening_ = listen_on_loopback(port_);
        serving_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
    }

    [[nodiscard]] Target target(const std::string& path = "/") const {
        return *parse_url("http://127.0.0.1:" + std::to_string(port_) + path);
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd one{listening_.number(), POLLIN, 0};
            if (poll(&one, 1, 20) != 1) {
                continue;
            }
            const Descriptor connection(accept(listening_.number(), nullptr, nullptr));
            std::array<char, 4096> buffer{};
            const ssize_t got = recv(connection.number(), buffer.data(), buffer.size(), 0);
            if (got > 0) {
                const std::string text =
                    respond_(std::string(buffer.data(), static_cast<std::size_t>(got)));
                send(connection.number(), text.data(), text.size(), MSG_NOSIGNAL);
                shutdown(connection.number(), SHUT_WR);
                recv(connection.number(), buffer.data(), buffer.size(), 0);
            }
        }
    }

    Respond respond_;
    Descriptor listening_;
    std::uint16_t port_ = 0;
    std::jthread serving_;
};

Measured asked(const Target& target, const std::vector<Target>& addresses = {}) {
    Plan plan;
    plan.targets = {{target, 1.0}};
    plan.addresses = addresses;
    plan.steps = {{0, 50.0}};
    plan.duration = kSecond / 2;
    plan.patience = 600 * kSecond;
    plan.connections = 8;
    plan.seed = 1;
    return send_requests(plan);
}

std::string moved(const std::string& location) {
    return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n";
}

bool is_for(const std::string& request, const std::string& path) {
    return request.starts_with("GET " + path + " ");
}

TEST(Field, ARequestFollowsRedirectionsToTheirAnswer) {
    const Responder elsewhere([](const std::string& request) {
        return is_for(request, "/there") ? kGood : "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
    });
    const std::string there = "http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/there";
    const Responder server([&there](const std::string& request) {
        if (is_for(request, "/")) {
            return moved("next?x=1");
        }
        return is_for(request, "/next?x=1") ? moved(there) : kGood;
    });
    const Measured measured = asked(server.target());
    EXPECT_GT(measured.intended, 0U);
    EXPECT_EQ(measured.answered, measured.intended);
}

TEST(Field, WhatARedirectionLeadsToIsWhatCounts) {
    const Responder server([](const std::string& request) {
        return is_for(request, "/") ? moved("/broken")
                                    : "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
    });
    const Measured measured = asked(server.target());
    EXPECT_EQ(measured.failures.at("status 500"), measured.intended);
}

TEST(Field, RedirectionsInACircleAreAFailure) {
    const Responder server([](const std::string&) { return moved("/"); });
    const Measured measured = asked(server.target());
    EXPECT_EQ(measured.failures.at("redirected more than 20 times"), measured.intended);
}

TEST(Field, ARedirectionToWhatIsNotSpokenIsAnAnswer) {
    const Responder server([](const std::string&) { return moved("https://127.0.0.1/"); });
    const Measured measured = asked(server.target());
    EXPECT_EQ(measured.answered, measured.intended);
}

TEST(Field, AllAddressesOfTheHostAreTried) {
    const Responder server([](const std::string&) { return kGood; });
    const Target v4 = server.target();
    const auto v6 = at_address(v4, "::1");
    ASSERT_TRUE(v6);
    const Measured measured = asked(*v6, {*v6, v4});
    EXPECT_GT(measured.intended, 0U);
    EXPECT_EQ(measured.answered, measured.intended);
    const Measured nobody = asked(*v6, {*v6, *v6});
    EXPECT_EQ(nobody.answered, 0U);
}

TEST(Field, HeadsAreReadAsTheyComeAndNameWhoAsks) {
    for (const std::string& good :
         {std::string("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
          "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'a') + "\r\nContent-Length: 2\r\n\r\nok",
          std::string("HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 2\r\n\r\nok"),
          std::string(
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: x\r\n\r\n"),
          std::string("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") + kGood}) {
        const Responder server([&good](const std::string& request) {
            return request.find("\r\nUser-Agent: ") != std::string::npos
                       ? good
                       : "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
        });
        const Measured measured = asked(server.target());
        EXPECT_EQ(measured.answered, measured.intended) << good.substr(0, 60);
    }
}

Settings viewer(const Target& start) {
    Settings made;
    made.start = start;
    made.bytes_per_second = 100'000.0;
    made.startup_s = 0.1;
    made.patience = 600 * kSecond;
    made.silence = 600 * kSecond;
    return made;
}

std::string chunks(int count) {
    std::string text;
    for (int k = 0; k < count; ++k) {
        text += "1f40;extension\r\n" + std::string(8000, 'v') + "\r\n";
    }
    return text;
}

struct Video {
    std::string answer;
    Outcome outcome;
    std::int64_t bytes;
    const char* said;
};

class FieldVideo : public testing::TestWithParam<Video> {};

TEST_P(FieldVideo, IsWatchedHoweverItIsSent) {
    const Responder server([](const std::string& request) {
        if (is_for(request, "/front")) {
            return moved("video");
        }
        return is_for(request, "/video") ? moved("./video.mp4") : GetParam().answer;
    });
    const Settings settings = viewer(server.target("/front"));
    const auto run = run_clients(settings, std::vector<Arrival>(1));
    const Client& client = run.clients[0];
    EXPECT_EQ(client.outcome(), GetParam().outcome) << client.reason();
    EXPECT_NE(client.reason().find(GetParam().said), std::string::npos) << client.reason();
    EXPECT_EQ(client.playback() != nullptr ? client.playback()->received() : 0, GetParam().bytes);
}

const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kOpen = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";

INSTANTIATE_TEST_SUITE_P(
    All, FieldVideo,
    testing::Values(
        Video{"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + std::string(9000, 'v'),
              Outcome::kServed, 9000, ""},
        Video{kChunked + chunks(12) + "0\r\nTrailer: x\r\n\r\n", Outcome::kServed, 96'000, ""},
        Video{kChunked + chunks(5), Outcome::kFailed, 40'000, "broke off"},
        Video{kChunked + chunks(5) + "nonsense\r\n", Outcome::kFailed, 40'000, "broke off"},
        Video{kChunked + "0\r\n\r\n", Outcome::kFailed, 0, "empty"},
        Video{kOpen + std::string(100'000, 'v'), Outcome::kServed, 100'000, ""},
        Video{kOpen + "v", Outcome::kServed, 1, ""}, Video{kOpen, Outcome::kFailed, 0, "empty"},
        Video{"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nvv",
              Outcome::kServed, 2, ""},
        Video{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Outcome::kFailed, 0, "empty"},
        Video{moved("/front"), Outcome::kFailed, 0, "more than 20 times"},
        Video{moved("https://127.0.0.1/"), Outcome::kFailed, 0, "https://127.0.0.1/"}));

}  // namespace
}  // namespace aferir::loadgen
