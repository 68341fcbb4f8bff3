// A process that disturbs, as daemons do: it works for nothing, keeps a clock, or answers those who
// keep one. Ends when its standard input does, so it never outlives who started it.
//
//   ocean-helper noise  --period-us N --work-us N
//   ocean-helper server                                    prints its port
//   ocean-helper client --period-us N --port N --exchanges N --page FD

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/arguments.hpp"
#include "common/descriptor.hpp"
#include "common/program.hpp"
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
    explicit Socket(int port) : descriptor_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
        const int done = port == 0 ? bind(descriptor(), generic, sizeof address)
                                   : connect(descriptor(), generic, sizeof address);
        if (!descriptor_.open() || done != 0) {
            throw UsageError("no socket on the loopback: " + std::string(std::strerror(errno)));
        }
    }

    [[nodiscard]] int descriptor() const { return descriptor_.number(); }
    [[nodiscard]] int port() const {
        sockaddr_in address{};
        socklen_t length = sizeof address;
        getsockname(descriptor(), reinterpret_cast<sockaddr*>(&address), &length);
        return ntohs(address.sin_port);
    }

  private:
    Descriptor descriptor_;
};

int server() {
    const Socket socket(0);
    std::printf("%d\n", socket.port());
    std::fflush(stdout);
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0},
                                  pollfd{socket.descriptor(), POLLIN, 0}};
    while (true) {
        if (poll(sources.data(), sources.size(), -1) < 0 || sources[0].revents != 0) {
            return 0;
        }
        Exchange exchange{};
        sockaddr_in from{};
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

int client(double period_s, int port, int exchanges, int page_descriptor) {
    const Socket socket(port);
    void* const memory =
        mmap(nullptr, sizeof(ClockPage), PROT_READ | PROT_WRITE, MAP_SHARED, page_descriptor, 0);
    if (memory == MAP_FAILED) {
        throw UsageError("--page is no descriptor of shared memory");
    }
    auto& page = *static_cast<ClockPage*>(memory);
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

int run(int count, char** values) {
    constexpr std::array<std::string_view, 5> kNames{"--period-us", "--work-us", "--port",
                                                     "--exchanges", "--page"};
    constexpr long long kMost = 1000000000;
    const std::vector<std::string_view> words(values + 1, values + count);
    const std::string_view role = words.empty() ? "" : words[0];
    const std::span<const std::string_view> rest(words.begin() + !words.empty(), words.end());
    const Arguments arguments(rest, kNames, {});
    const double period_s =
        1e-6 * static_cast<double>(arguments.integer("--period-us", 100000, 100, kMost));
    if (role == "noise") {
        return noise(period_s,
                     1e-6 * static_cast<double>(arguments.integer("--work-us", 1000, 0, kMost)));
    }
    if (role == "server") {
        return server();
    }
    if (role == "client") {
        return client(period_s, static_cast<int>(arguments.integer("--port", 0, 1, 65535)),
                      static_cast<int>(arguments.integer("--exchanges", 4, 1, 100)),
                      static_cast<int>(arguments.integer("--page", -1, 0, 1 << 20)));
    }
    throw UsageError("give one of noise, server and client");
}

}  // namespace
}  // namespace aferir::ocean

int main(int count, char** values) {
    return aferir::run_program("ocean-helper", stderr,
                               [&] { return aferir::ocean::run(count, values); });
}
