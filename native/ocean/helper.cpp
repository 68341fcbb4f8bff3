// A process that disturbs, as daemons do: it works for nothing, keeps a clock, or answers those who
// keep one. Ends when its standard input does, so it never outlives who started it.
//
//   ocean-helper noise  --period-us N --work-us N
//   ocean-helper server [--address A]                      prints its port
//   ocean-helper client [--address A] --period-us N --port N --exchanges N --page FD
//   ocean-helper chronyd-server [--address A]              prints its port
//   ocean-helper chronyd-client [--address A] --period-us N --port N --page FD --steers 0|1

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/descriptor.hpp"
#include "common/program.hpp"
#include "ocean/chronyd.hpp"
#include "ocean/virtual_clock.hpp"

namespace aferir::ocean {
namespace {

constexpr int kPatienceMs = 100;

double seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Sleeps until the wanted moment of CLOCK_MONOTONIC, or until standard input ends.
bool sleep_until(double moment) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (true) {
        const double left = moment - seconds(CLOCK_MONOTONIC);
        if (left <= 0) {
            return true;
        }
        timespec span{};
        span.tv_sec = static_cast<time_t>(left);
        span.tv_nsec = static_cast<long>((left - static_cast<double>(span.tv_sec)) * 1e9);
        if (ppoll(&input, 1, &span, nullptr) > 0) {
            return false;
        }
    }
}

/// Calls `work` once in every period until standard input ends; missed periods are skipped.
template <typename Work>
int every(double period_s, const Work& work) {
    double next = seconds(CLOCK_MONOTONIC);
    while (sleep_until(next)) {
        work();
        next += period_s;
        const double now = seconds(CLOCK_MONOTONIC);
        next = next < now ? now + period_s : next;
    }
    return 0;
}

int noise(double period_s, double work_s) {
    return every(period_s, [=] {
        const double until = seconds(CLOCK_PROCESS_CPUTIME_ID) + work_s;
        while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until) {
        }
    });
}

class Socket {
  public:
    /// Port 0: bound to any free port of `address`, else connected to that port there.
    Socket(const std::string& address, int port) {
        sockaddr_storage place{};
        auto& four = reinterpret_cast<sockaddr_in&>(place);
        auto& six = reinterpret_cast<sockaddr_in6&>(place);
        if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
            place.ss_family = AF_INET;
        } else if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
            place.ss_family = AF_INET6;
        } else {
            throw UsageError(address + " is no address");
        }
        four.sin_port = htons(static_cast<std::uint16_t>(port));  // at the same place in both
        descriptor_ = Descriptor(socket(place.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const auto join = port == 0 ? bind : connect;
        const auto* const generic = reinterpret_cast<const sockaddr*>(&place);
        const socklen_t length = place.ss_family == AF_INET ? sizeof four : sizeof six;
        if (!descriptor_.open() || join(descriptor(), generic, length) != 0) {
            throw UsageError("no socket of " + address + ": " + std::strerror(errno));
        }
    }

    [[nodiscard]] int descriptor() const { return descriptor_.number(); }
    [[nodiscard]] int port() const {
        sockaddr_in6 address{};  // the port of IPv4 is at the same place in its own
        socklen_t length = sizeof address;
        getsockname(descriptor(), reinterpret_cast<sockaddr*>(&address), &length);
        return ntohs(address.sin6_port);
    }

  private:
    Descriptor descriptor_;
};

int server(const std::string& address) {
    const Socket socket(address, 0);
    std::printf("%d\n", socket.port());
    std::fflush(stdout);
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0},
                                  pollfd{socket.descriptor(), POLLIN, 0}};
    while (true) {
        if (poll(sources.data(), sources.size(), -1) < 0 || sources[0].revents != 0) {
            return 0;
        }
        Exchange exchange{};
        sockaddr_in6 from{};
        socklen_t length = sizeof from;
        auto* const peer = reinterpret_cast<sockaddr*>(&from);
        if (recvfrom(socket.descriptor(), &exchange, sizeof exchange, 0, peer, &length) ==
            sizeof exchange) {
            exchange.received_there = seconds(CLOCK_MONOTONIC_RAW);
            exchange.sent_there = seconds(CLOCK_MONOTONIC_RAW);
            sendto(socket.descriptor(), &exchange, sizeof exchange, 0, peer, length);
        }
    }
}

std::optional<Exchange> ask(const Socket& socket, const ClockPage& page) {
    Exchange exchange{};
    exchange.sent = read_clock(page, seconds(CLOCK_MONOTONIC_RAW));
    if (send(socket.descriptor(), &exchange, sizeof exchange, 0) != sizeof exchange) {
        return std::nullopt;
    }
    Exchange answer{};
    pollfd input{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    while (poll(&input, 1, kPatienceMs) > 0) {
        if (recv(socket.descriptor(), &answer, sizeof answer, 0) == sizeof answer &&
            answer.sent == exchange.sent) {
            answer.received = read_clock(page, seconds(CLOCK_MONOTONIC_RAW));
            return answer;
        }
    }
    return std::nullopt;
}

ClockPage& mapped(int descriptor) {
    void* const memory =
        mmap(nullptr, sizeof(ClockPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        throw UsageError("--page is no descriptor of shared memory");
    }
    return *static_cast<ClockPage*>(memory);
}

int client(const std::string& address, double period_s, int port, int exchanges, ClockPage& page) {
    const Socket socket(address, port);
    Discipline discipline;
    return every(period_s, [&] {
        std::optional<Exchange> best;
        for (int i = 0; i < exchanges; ++i) {
            const auto exchange = ask(socket, page);
            page.messages.fetch_add(exchange ? 2 : 1, std::memory_order_relaxed);
            if (exchange && (!best || exchange->delay() < best->delay())) {
                best = exchange;
            }
        }
        page.wake_ups.fetch_add(1, std::memory_order_relaxed);
        if (best) {
            slew_clock(page, seconds(CLOCK_MONOTONIC_RAW),
                       discipline.correct(best->offset(), period_s));
        }
    });
}

int chronyd_server(const std::string& address) {
    const int port = Socket(address, 0).port();
    Chronyd daemon(
        {"local stratum 8", "allow", "bindaddress " + address, "port " + std::to_string(port)},
        false);
    daemon.wait_for_port(port);
    std::printf("%d\n", port);
    std::fflush(stdout);
    daemon.wait_for_end();
    return 0;
}

/// chronyd asks every 2^n seconds, n from -7 on (chrony.conf(5)).
int chronyd_client(const std::string& address, double period_s, int port, bool steers,
                   ClockPage& page) {
    const std::string keeper = steers ? keeper_of_clock() : "";
    if (!keeper.empty()) {
        throw UsageError(keeper + " keeps this host's clock already: stop it on all hosts");
    }
    const auto poll = std::to_string(std::max(-7L, std::lround(std::log2(period_s))));
    const Chronyd daemon({"server " + address + " port " + std::to_string(port) + " minpoll " +
                              poll + " maxpoll " + poll,
                          "port 0"},
                         steers);
    daemon.wait_for_end();
    page.wake_ups.fetch_add(static_cast<std::uint64_t>(daemon.wake_ups()));
    page.messages.fetch_add(2 * static_cast<std::uint64_t>(Chronyd::measurements()));
    return 0;
}

int run(int count, char** values) {
    constexpr std::array<std::string_view, 7> kNames{
        "--period-us", "--work-us", "--port", "--exchanges", "--page", "--address", "--steers"};
    constexpr long long kMost = 1000000000;
    const std::vector<std::string_view> words(values + 1, values + count);
    const std::string_view role = words.empty() ? "" : words[0];
    const std::span<const std::string_view> rest(words.begin() + !words.empty(), words.end());
    const Arguments arguments(rest, kNames, {});
    const std::string address(arguments.value("--address").value_or("127.0.0.1"));
    const double period_s =
        1e-6 * static_cast<double>(arguments.integer("--period-us", 100000, 100, kMost));
    const auto port = [&] { return static_cast<int>(arguments.integer("--port", 0, 1, 65535)); };
    const auto page = [&]() -> ClockPage& {
        return mapped(static_cast<int>(arguments.integer("--page", -1, 0, 1 << 20)));
    };
    if (role == "noise") {
        return noise(period_s,
                     1e-6 * static_cast<double>(arguments.integer("--work-us", 1000, 0, kMost)));
    }
    if (role == "server") {
        return server(address);
    }
    if (role == "client") {
        const auto exchanges = static_cast<int>(arguments.integer("--exchanges", 4, 1, 100));
        return client(address, period_s, port(), exchanges, page());
    }
    if (role == "chronyd-server") {
        return chronyd_server(address);
    }
    if (role == "chronyd-client") {
        const bool steers = arguments.integer("--steers", 0, 0, 1) != 0;
        return chronyd_client(address, period_s, port(), steers, page());
    }
    throw UsageError("give one of noise, server, client, chronyd-server and chronyd-client");
}

}  // namespace
}  // namespace aferir::ocean

int main(int count, char** values) {
    return aferir::run_program("ocean-helper", stderr,
                               [&] { return aferir::ocean::run(count, values); });
}
