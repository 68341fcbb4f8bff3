// Tests requests with real sockets on loopback, against a server that answers, refuses, closes or
// stands still.
#include "loadgen/requests.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loadgen/socket.hpp"
#include "loopback.hpp"

namespace aferir::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kPatience = 600'000 * kMillisecond;

Target target_at(std::uint16_t port) {
    return *parse_url("http://127.0.0.1:" + std::to_string(port) + "/x");
}

/// Answers each request with two bytes; from request number `from` on, does what its `Deed` says.
class Server {
  public:
    /// kPieces: each answer in as many segments as it has bytes. kToEnd: request `from` alone is
    /// answered without a length; the connection ends when twenty others have been answered.
    enum class Deed { kAnswer, kFail, kClose, kSilence, kPieces, kToEnd };

    explicit Server(Deed deed = Deed::kAnswer, int from = 0) : deed_(deed), from_(from) {
        listening_ = listen_on_loopback(port_);
        serving_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
    }

    [[nodiscard]] Target target() const { return target_at(port_); }
    [[nodiscard]] int served() const { return served_; }
    [[nodiscard]] int connections() const { return connections_; }
    /// The last request, as it came.
    [[nodiscard]] std::string last() const {
        const std::lock_guard guard(lock_);
        return last_;
    }
    /// Stops reading and answering for `time`, from the next poll on, or once `served` requests
    /// have been served.
    void stand_still(std::chrono::milliseconds time, int served = 0) {
        still_after_ = served;
        still_ = time.count();
    }

  private:
    void serve(const std::stop_token& stop) {
        std::vector<Descriptor> open;
        while (!stop.stop_requested()) {
            std::vector<pollfd> looked{{listening_.number(), POLLIN, 0}};
            for (const Descriptor& one : open) {
                looked.push_back({one.number(), POLLIN, 0});
            }
            poll(looked.data(), looked.size(), 5);
            if (served_ >= still_after_) {
                std::this_thread::sleep_for(std::chrono::milliseconds(still_.exchange(0)));
            }
            for (std::size_t k = looked.size() - 1; k > 0; --k) {
                if (looked[k].revents != 0 && !answer(open[k - 1])) {
                    open.erase(open.begin() + static_cast<std::ptrdiff_t>(k - 1));
                }
            }
            if (looked[0].revents != 0) {
                open.emplace_back(accept(listening_.number(), nullptr, nullptr));
                const int yes = 1;
                setsockopt(open.back().number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                ++connections_;
            }
        }
    }

    bool answer(const Descriptor& connection) {
        std::array<char, 4096> buffer;
        const ssize_t got = recv(connection.number(), buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            return false;
        }
        {
            const std::lock_guard guard(lock_);
            last_.assign(buffer.data(), static_cast<std::size_t>(got));
        }
        const Deed deed = served_++ >= from_ ? deed_ : Deed::kAnswer;
        if (deed == Deed::kSilence) {
            return true;
        }
        if (deed == Deed::kToEnd && served_ == from_ + 1) {
            const std::string text = "HTTP/1.1 206 Part\r\n\r\nhi";
            send(connection.number(), text.data(), text.size(), MSG_NOSIGNAL);
            to_end_ = connection.number();
            return true;
        }
        if (to_end_ >= 0 && served_ == from_ + 21) {
            shutdown(std::exchange(to_end_, -1), SHUT_RDWR);
        }
        const std::string text = deed == Deed::kFail
                                     ? "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
                                     : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        const std::size_t piece = deed == Deed::kPieces ? 1 : text.size();
        for (std::size_t at = 0; at < text.size(); at += piece) {
            send(connection.number(), &text[at], piece, MSG_NOSIGNAL);
        }
        return deed != Deed::kClose;
    }

    Descriptor listening_;
    std::uint16_t port_ = 0;
    Deed deed_;
    int from_;
    int to_end_ = -1;
    std::atomic<int> served_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<std::int64_t> still_ = 0;
    std::atomic<int> still_after_ = 0;
    mutable std::mutex lock_;
    std::string last_;
    std::jthread serving_;
};

Plan plan_for(const Target& target, double rate, Nanoseconds duration) {
    Plan plan;
    plan.targets = {{target, 1.0}};
    plan.steps = {{0, rate}};
    plan.duration = duration;
    plan.patience = kPatience;
    plan.connections = 64;
    plan.seed = 1;
    return plan;
}

Plan plan_for(const Server& server, double rate, Nanoseconds duration) {
    return plan_for(server.target(), rate, duration);
}

std::uint64_t failures(const Measured& measured) {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : measured.failures) {
        sum += count;
    }
    return sum;
}

Tell keep(std::vector<Asked>& asked) {
    return [&asked](const Asked& one, std::string_view) { asked.push_back(one); };
}

TEST(Requests, ComeAtTheirRateAndEachIsAnsweredOnce) {
    const Server server;
    std::vector<Asked> asked;
    const Measured measured =
        send_requests(plan_for(server, 500.0, 1000 * kMillisecond), keep(asked));
    EXPECT_EQ(failures(measured), 0U);
    EXPECT_EQ(measured.answered, measured.intended);
    EXPECT_EQ(static_cast<int>(measured.answered), server.served());
    EXPECT_NEAR(static_cast<double>(measured.intended), 500.0, 5 * std::sqrt(500.0));
    EXPECT_EQ(asked.size(), measured.intended);
    EXPECT_LT(server.connections(), 65);
}

TEST(Requests, OfAStandstillCountFromTheirOwnMoments) {
    Server server;
    server.stand_still(500ms, 50);
    Plan plan = plan_for(server, 200.0, 1000 * kMillisecond);
    plan.connections = 4;  // far fewer than come meanwhile: they wait, and the time counts
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered, measured.intended);
    // A closed loop would have had only four slow requests of 200.
    EXPECT_GT(measured.latencies.quantile(0.75), 100e6);
}

TEST(Requests, ThatFailAreNoQuickAnswers) {
    const Server server(Server::Deed::kFail);
    Plan plan = plan_for(server, 200.0, 200 * kMillisecond);
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered, 0U);
    EXPECT_EQ(measured.failures.at("status 500"), measured.intended);
    EXPECT_GE(measured.latencies.quantile(0.01), 0.99 * static_cast<double>(kPatience));
}

TEST(Requests, WithoutAnAnswerEndWithTheirPatience) {
    const Server server(Server::Deed::kSilence, 10);
    Plan plan = plan_for(server, 200.0, 200 * kMillisecond);
    plan.patience = 200 * kMillisecond;
    plan.connections = 8;
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered + failures(measured), measured.intended);
    EXPECT_GT(measured.failures.at("no answer within 0.2 s"), 0U);
}

TEST(Requests, GoOnWhenTheServerClosesKeptConnections) {
    const Server server(Server::Deed::kClose);
    const Measured measured = send_requests(plan_for(server, 200.0, 500 * kMillisecond));
    EXPECT_EQ(measured.answered, measured.intended);
}

TEST(Requests, ShareAConnectionOnlyAsOftenAsTheyMay) {
    const Server server;
    Plan plan = plan_for(server, 200.0, 500 * kMillisecond);
    plan.reuse = 4;
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered, measured.intended);
    EXPECT_GE(server.connections(), server.served() / 4);
}

TEST(Requests, KeepAConnectionWhoseAnswersComeInPieces) {
    const Server server(Server::Deed::kPieces);
    Plan plan = plan_for(server, 500.0, 1000 * kMillisecond);
    plan.connections = 1;
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered, measured.intended);
    EXPECT_EQ(server.connections(), 1);
}

TEST(Requests, WhoseAnswersEndWithTheConnectionHaveTheStampOfTheirOwnLastByte) {
    const Server server(Server::Deed::kToEnd, 5);
    std::vector<Asked> asked;
    const Measured measured =
        send_requests(plan_for(server, 300.0, 400 * kMillisecond), keep(asked));
    EXPECT_EQ(measured.answered, measured.intended);
    const auto to_end = std::ranges::find(asked, 206, &Asked::status);
    ASSERT_NE(to_end, asked.end());
    // All but five requests reported before that one were answered after its last byte had come.
    const auto came_later = std::count_if(asked.begin(), to_end, [&](const Asked& other) {
        return other.intended + other.latency > to_end->intended + to_end->latency;
    });
    EXPECT_GE(came_later, to_end - asked.begin() - 5);
}

TEST(Requests, ThatWaitAreServedThoughOneBeforeThemFails) {
    // This machine itself refuses to connect to the broadcast address.
    const auto nowhere = parse_url("http://255.255.255.255/");
    ASSERT_TRUE(nowhere && !connect_to(*nowhere).open());
    Server server;
    server.stand_still(600ms);  // until all of them wait
    Plan plan = plan_for(server, 200.0, 400 * kMillisecond);
    plan.targets.push_back({*nowhere, 1.0});
    plan.connections = 1;
    std::vector<Asked> asked;
    send_requests(plan, keep(asked));
    for (const Asked& one : asked) {
        EXPECT_EQ(one.status, one.target == 0 ? 200 : 0);
    }
}

/// Makes `call` fail with EPERM, as older seccomp profiles of containers do for system calls they
/// do not know.
void forbid(long call) {
    std::array<sock_filter, 4> code{
        {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(2);
    }
}

TEST(Requests, DoWithoutASystemCallThatIsForbidden) {
    const Server server;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        forbid(SYS_epoll_pwait2);
        const Measured measured = send_requests(plan_for(server, 200.0, 500 * kMillisecond));
        rusage used{};
        getrusage(RUSAGE_SELF, &used);
        // It must have slept while waiting: whoever spins never gives the processor up by itself.
        _exit(measured.intended > 0 && measured.answered == measured.intended && used.ru_nvcsw > 0
                  ? 0
                  : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Requests, AskForTheHostThatTheyAreTold) {
    const Server server;
    Plan plan = plan_for(server, 50.0, 200 * kMillisecond);
    plan.host = "www.example.org";
    send_requests(plan);
    EXPECT_NE(server.last().find("\r\nHost: www.example.org\r\n"), std::string::npos);
}

TEST(Requests, TellWhyTheyFailedAsSoonAsTheyHave) {
    const Server server(Server::Deed::kFail);
    std::vector<std::string> failed;
    const Plan plan = plan_for(server, 200.0, 200 * kMillisecond);
    const Measured measured = send_requests(
        plan, [&failed](const Asked&, std::string_view failure) { failed.emplace_back(failure); });
    EXPECT_EQ(failed, std::vector<std::string>(measured.intended, "status 500"));
}

TEST(Requests, ToNobodyFail) {
    std::uint16_t port = 0;
    const Descriptor nobody = bind_to_loopback(port);
    const Plan plan = plan_for(target_at(port), 200.0, 200 * kMillisecond);
    const Measured measured = send_requests(plan);
    EXPECT_EQ(measured.answered, 0U);
    EXPECT_EQ(failures(measured), measured.intended);
}

TEST(Requests, FollowStepsOfTheRateAndLeaveOutTheWarmUp) {
    const Server server;
    Plan plan = plan_for(server, 100.0, 1000 * kMillisecond);
    plan.steps = {{0, 1000.0}, {500 * kMillisecond, 0.0}, {800 * kMillisecond, 500.0}};
    plan.warm_up = 400 * kMillisecond;
    std::vector<Asked> asked;
    const Measured measured = send_requests(plan, keep(asked));
    EXPECT_NEAR(static_cast<double>(measured.intended), 200.0, 75.0);
    for (const Asked& one : asked) {
        EXPECT_GE(one.intended, plan.warm_up);
        EXPECT_TRUE(one.intended < 500 * kMillisecond || one.intended >= 800 * kMillisecond);
    }
}

TEST(Requests, OfAClosedLoopAreNeverMoreAtOnceThanItsUsers) {
    const Server server;
    Plan plan = plan_for(server, 0.0, 400 * kMillisecond);
    plan.users = 3;
    plan.warm_up = 100 * kMillisecond;
    plan.ramp_down = 100 * kMillisecond;
    std::vector<Asked> asked;
    const Measured measured = send_requests(plan, keep(asked));
    EXPECT_EQ(measured.answered, measured.intended);
    EXPECT_LE(measured.most_connections, 3U);
    EXPECT_GE(server.served(), 3);
    for (const Asked& one : asked) {
        EXPECT_GE(one.intended, plan.warm_up);
        EXPECT_LT(one.intended, plan.duration - plan.ramp_down);
    }
}

TEST(Requests, OfUsersWhoAreRefusedPause) {
    std::uint16_t port = 0;
    const Descriptor nobody = bind_to_loopback(port);
    Plan plan = plan_for(target_at(port), 0.0, 200 * kMillisecond);
    plan.users = 2;
    const Measured measured = send_requests(plan);
    EXPECT_GE(measured.intended, 2U);
    EXPECT_LE(measured.intended, 2U * 21U);  // one in 10 ms each
    EXPECT_EQ(failures(measured), measured.intended);
}

}  // namespace
}  // namespace aferir::loadgen
