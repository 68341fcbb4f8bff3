// Tests clients with real sockets on loopback, against a server that stalls when told to.
#include "loadgen/engine.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "common/arguments.hpp"
#include "loadgen/report.hpp"
#include "loadgen/schedule.hpp"
#include "loopback.hpp"

namespace aferir::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr double kRate = 100'000.0;

/// What the server does to the client that asks for /K.
enum class Deed { kServe, kStall, kHold, kBreakOff, kBlock, kSilence, kNonsense };

class Server {
  public:
    explicit Server(std::vector<Deed> deeds) : deeds_(std::move(deeds)) {
        listening_ = listen_on_loopback(port_);
        accepting_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
    }

    [[nodiscard]] std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }
    /// Whether the server itself kept to its times for this stream, and the client, which plays
    /// since `playing`, has no buffer that outlasts the stall; a busy machine makes either late.
    [[nodiscard]] bool punctual(std::size_t number, Nanoseconds playing) const {
        return late_[number] == 0 && playing - began_[number] < kSecond * 6 / 10;
    }
    /// Waits until that many videos were sent to their ends: then it is known what was late.
    void await_delivered(std::size_t count) const {
        while (delivered_ < count) {
            std::this_thread::sleep_for(1ms);
        }
    }
    [[nodiscard]] int leaves() const { return leaves_; }
    /// The outcome that the client which left last has reported.
    [[nodiscard]] std::string said() {
        const std::lock_guard lock(said_lock_);
        return said_;
    }

  private:
    void accept_all(const std::stop_token& stop) {
        std::size_t accepted = 0;
        while (!stop.stop_requested()) {
            pollfd one{listening_.number(), POLLIN, 0};
            if (poll(&one, 1, 20) == 1) {
                const int fd = accept(listening_.number(), nullptr, nullptr);
                serving_.emplace_back([this, stop, fd, number = accepted++] {
                    const Descriptor connection(fd);
                    serve(connection, number, stop);
                });
            }
        }
    }

    /// Serves one connection. /front redirects to /video, which does the first deed of the list; a
    /// request for /stream does the deed with the number of its connection.
    void serve(const Descriptor& to, std::size_t number, const std::stop_token& stop) {
        std::array<char, 2048> buffer{};
        const ssize_t got = recv(to.number(), buffer.data(), buffer.size() - 1, 0);
        const std::string asked(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
        if (asked.starts_with("DELETE /leave?outcome=")) {
            ++leaves_;
            const std::lock_guard lock(said_lock_);
            said_ = asked.substr(22, asked.find(' ', 22) - 22);
            answer(to, "204 No Content", "");
        } else if (asked.starts_with("GET /stream")) {
            deliver(to, number, stop);
        } else if (asked.starts_with("GET /video")) {
            deliver(to, 0, stop);
        } else if (deeds_[0] == Deed::kBlock) {
            answer(to, "503 Service Unavailable", "");
        } else {
            answer(to, "302 Found", "Location: " + url("/video") + "\r\nAferir-Leave: /leave\r\n");
        }
    }

    static void hold(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(20ms);
        }
    }

    static void answer(const Descriptor& to, const std::string& status, const std::string& fields) {
        send_text(to, "HTTP/1.1 " + status + "\r\n" + fields + "Content-Length: 0\r\n\r\n");
    }

    static bool send_text(const Descriptor& to, const std::string& text) {
        return send(to.number(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
    }

    /// Sends 1.2 s of video at the rate at which it is played, in pieces of 20 ms.
    void deliver(const Descriptor& to, std::size_t number, const std::stop_token& stop) {
        const Deed deed = deeds_[number];
        if (deed == Deed::kSilence) {
            hold(stop);
            return;
        }
        if (deed == Deed::kNonsense) {
            send_text(to, "220 ready for mail\r\n\r\n");
            return;
        }
        send_text(to, "HTTP/1.1 200 OK\r\nContent-Length: 120000\r\n\r\n");
        const std::string piece(2000, 'v');
        began_[number] = monotonic_now();
        auto due = std::chrono::steady_clock::now();
        for (int k = 0; k < 60; ++k) {
            if (k == 30 && deed == Deed::kHold) {
                hold(stop);
            }
            if (k == 30 && deed == Deed::kBreakOff) {
                return;
            }
            if (k == 30 && deed == Deed::kStall) {
                due += 700ms;
            }
            std::this_thread::sleep_until(due += 20ms);
            if (!send_text(to, piece)) {
                return;
            }
            if (std::chrono::steady_clock::now() - due > 200ms) {
                ++late_[number];
            }
        }
        ++delivered_;
    }

    std::vector<Deed> deeds_;
    std::vector<std::atomic<int>> late_ = std::vector<std::atomic<int>>(deeds_.size());
    std::vector<std::atomic<Nanoseconds>> began_ =
        std::vector<std::atomic<Nanoseconds>>(deeds_.size());
    Descriptor listening_;
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> delivered_ = 0;
    std::atomic<int> leaves_ = 0;
    std::mutex said_lock_;
    std::string said_;
    std::vector<std::jthread> serving_;
    std::jthread accepting_;
};

Settings settings(const std::string& url) {
    Settings made;
    made.start = *parse_url(url);
    made.bytes_per_second = kRate;
    made.startup_s = 0.4;  // a busy machine may be late by less, and nobody is to blame
    made.patience = 600 * kSecond;
    made.silence = 600 * kSecond;
    return made;
}

TEST(Engine, SeesAStallInEveryStreamThatHadOneAndInNoOther) {
    std::vector<Deed> deeds(24, Deed::kServe);
    std::vector<Arrival> arrivals(deeds.size());
    for (std::size_t k = 0; k < deeds.size(); ++k) {
        deeds[k] = k % 3 == 0 ? Deed::kStall : Deed::kServe;
        arrivals[k].after_start = static_cast<Nanoseconds>(k) * 30'000'000;
    }
    const Server server(deeds);
    const auto run = run_clients(settings(server.url("/stream")), arrivals);
    for (const Client& client : run.clients) {
        ASSERT_EQ(client.outcome(), Outcome::kServed) << client.reason();
    }
    server.await_delivered(deeds.size());
    std::size_t judged = 0;
    for (std::size_t k = 0; k < deeds.size(); ++k) {
        const Client& client = run.clients[k];
        ASSERT_TRUE(client.playback());
        EXPECT_EQ(client.playback()->received(), 120'000);
        const bool planted = deeds[k] == Deed::kStall;
        ASSERT_TRUE(client.playback()->began());
        if (!server.punctual(k, *client.playback()->began()) ||
            client.playback()->own_violations() > 0) {
            continue;
        }
        ++judged;
        // After the stall the buffer is empty, so that the least jitter causes another violation.
        EXPECT_EQ(client.playback()->violations() > 0, planted) << k;
        if (planted) {
            EXPECT_GT(client.playback()->longest_stall(), kSecond / 10);
        }
    }
    if (judged < deeds.size() / 2) {
        GTEST_SKIP() << "the machine is too busy for server and clients to keep their own times";
    }
}

struct End {
    Deed deed;
    Nanoseconds watch;
    Outcome outcome;
    const char* said;
};

class EngineEnds : public testing::TestWithParam<End> {};

TEST_P(EngineEnds, IsAnOutcomeAndNobodyIsLost) {
    Server server({GetParam().deed});
    const std::vector<Arrival> one{{0, GetParam().watch}};
    Settings made = settings(server.url("/front"));
    if (GetParam().deed == Deed::kSilence) {
        made.silence = 2 * kSecond;
    }
    const auto run = run_clients(made, one);
    EXPECT_EQ(run.clients[0].outcome(), GetParam().outcome) << run.clients[0].reason();
    const std::string line = summary(run);
    EXPECT_NE(line.find("\"verified\":true"), std::string::npos);
    EXPECT_NE(line.find(GetParam().said), std::string::npos) << line;
    if (GetParam().deed == Deed::kBlock) {
        EXPECT_EQ(server.leaves(), 0);
    } else {
        EXPECT_EQ(server.leaves(), 1);
        EXPECT_EQ(server.said(), outcome_name(GetParam().outcome));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, EngineEnds,
    testing::Values(End{Deed::kServe, 0, Outcome::kServed, "\"served\":1"},
                    End{Deed::kHold, kSecond / 2, Outcome::kAbandoned, "\"abandoned\":1"},
                    End{Deed::kBlock, 0, Outcome::kBlocked, "\"blocked\":1"},
                    End{Deed::kBreakOff, 0, Outcome::kFailed, "the video broke off"},
                    End{Deed::kSilence, 0, Outcome::kFailed, "fallen silent"},
                    End{Deed::kNonsense, 0, Outcome::kFailed, "no HTTP"}));

TEST(Engine, ARefusedConnectionAndASilentFrontAreOutcomes) {
    const std::vector<Arrival> one(1);
    std::uint16_t port = 0;
    const Descriptor nobody = bind_to_loopback(port);
    const std::string dead = "http://127.0.0.1:" + std::to_string(port) + "/front";
    EXPECT_EQ(run_clients(settings(dead), one).clients[0].outcome(), Outcome::kFailed);

    const Server silent({Deed::kSilence});
    Settings impatient = settings(silent.url("/video"));
    impatient.patience = kSecond / 10;
    const auto run = run_clients(impatient, one);
    EXPECT_EQ(run.clients[0].outcome(), Outcome::kBlocked);
}

TEST(Engine, CountsFromTheBeginningItIsTold) {
    const Server server({Deed::kServe, Deed::kServe});
    const std::vector<Arrival> arrivals{{0, 0}, {kSecond / 10, 0}};
    const Nanoseconds ahead = monotonic_now() + kSecond / 2;
    const auto later = run_clients(settings(server.url("/front")), arrivals, ahead);
    EXPECT_EQ(later.began, ahead);
    EXPECT_EQ(later.clients[1].intended(), ahead + kSecond / 10);
    EXPECT_GE(later.ended, ahead + kSecond);  // 1.2 s of video, as it is played

    const Nanoseconds past = monotonic_now() - 5 * kSecond;
    const auto late = run_clients(settings(server.url("/front")), arrivals, past);
    EXPECT_EQ(late.clients[0].outcome(), Outcome::kServed);
    EXPECT_GE(late.health.worst_start, 5 * kSecond);
    EXPECT_GT(late.clients[0].startup(), 5 * kSecond);
}

TEST(Schedule, IsReadOrRefusedWithItsLine) {
    std::istringstream good("0 5\n0.5\n0.5 0\n");
    const std::vector<Arrival> arrivals = read_schedule(good);
    ASSERT_EQ(arrivals.size(), 3U);
    EXPECT_EQ(arrivals[0].watch, 5 * kSecond);
    EXPECT_EQ(arrivals[1].after_start, kSecond / 2);
    for (const char* text : {"1\n0.5\n", "x\n", "-1\n", "nan\n", "inf\n", "1 -2\n", "1 2 3\n",
                             "1 x\n", "\n", "1e300\n"}) {
        std::istringstream bad(text);
        EXPECT_THROW(read_schedule(bad), UsageError) << text;
    }
}

}  // namespace
}  // namespace aferir::loadgen
