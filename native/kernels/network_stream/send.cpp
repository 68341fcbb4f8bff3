#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "common/json.hpp"
#include "network_stream/network_stream.hpp"
#include "network_stream/pattern.hpp"
#include "network_stream/sampler.hpp"
#include "network_stream/sockets.hpp"

namespace aferir {
namespace {

constexpr double kConnectingS = 20;

struct Outgoing {
    Descriptor socket;
    std::uint64_t sent = 0;
    std::array<std::byte, sizeof(std::uint64_t)> answer{};
    std::size_t answered = 0;
};

std::vector<Outgoing> connect_all(const StreamOptions& options) {
    const auto deadline = monotonic_s() + kConnectingS;
    std::vector<Outgoing> streams;
    for (int i = 0; i < options.connections; ++i) {
        const auto& address = options.to[static_cast<std::size_t>(i) % options.to.size()];
        streams.push_back({connect_to(address, options, deadline)});
    }
    return streams;
}

int wait_ms(const Sampler& sampler, double now_s, double end_s) {
    const auto seconds = std::min(sampler.due_in(now_s), std::max(end_s - now_s, 0.0));
    return static_cast<int>(seconds * 1e3) + 1;
}

std::int64_t write_some(Outgoing& stream, const Pattern& pattern) {
    const auto data = pattern.at(stream.sent);
    const auto count = send(stream.socket.number(), data.data(), data.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        fail("sending");
    }
    if (count > 0) {
        stream.sent += static_cast<std::uint64_t>(count);
    }
    return count > 0 ? count : 0;
}

std::int64_t send_until(std::vector<Outgoing>& streams, Sampler& sampler, double end_s) {
    const Pattern pattern;
    std::vector<pollfd> waiting;
    waiting.reserve(streams.size());
    for (const auto& stream : streams) {
        waiting.push_back({stream.socket.number(), POLLOUT, 0});
    }
    std::int64_t total = 0;
    while (true) {
        const double now = monotonic_s();
        if (now >= end_s) {
            return total;
        }
        sampler.look(now, total);
        if (poll(waiting.data(), waiting.size(), wait_ms(sampler, now, end_s)) < 0) {
            fail("poll");
        }
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (waiting[i].revents != 0) {
                total += write_some(streams[i], pattern);
            }
        }
    }
}

// For each stream that ends, the other end answers with the number of bytes that it has received.
bool read_answer(Outgoing& stream) {
    const auto count = recv(stream.socket.number(), stream.answer.data() + stream.answered,
                            stream.answer.size() - stream.answered, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        fail("the other end gave up");
    }
    stream.answered += count > 0 ? static_cast<std::size_t>(count) : 0;
    return stream.answered == stream.answer.size();
}

bool confirmed(std::vector<Outgoing>& streams, Sampler& sampler, std::int64_t total,
               double limit_s) {
    for (const auto& stream : streams) {
        if (shutdown(stream.socket.number(), SHUT_WR) != 0) {
            fail("shutdown");
        }
    }
    std::vector<pollfd> waiting;
    waiting.reserve(streams.size());
    for (const auto& stream : streams) {
        waiting.push_back({stream.socket.number(), POLLIN, 0});
    }
    std::size_t left = streams.size();
    while (left > 0) {
        const auto now = monotonic_s();
        if (now > limit_s) {
            throw std::runtime_error("the other end has not confirmed all bytes in time");
        }
        sampler.look(now, total);
        poll(waiting.data(), waiting.size(), wait_ms(sampler, now, limit_s));
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (waiting[i].revents != 0 && read_answer(streams[i])) {
                waiting[i].fd = -1;
                --left;
            }
        }
    }
    return std::all_of(streams.begin(), streams.end(), [](const Outgoing& stream) {
        std::uint64_t had = 0;
        for (const auto part : stream.answer) {
            had = (had << 8U) | std::to_integer<std::uint64_t>(part);
        }
        return had == stream.sent;
    });
}

}  // namespace

std::string send_streams(const StreamOptions& options) {
    const auto counters = read_counters();
    auto streams = connect_all(options);
    Sampler sampler(options.interval_s);
    const auto start = monotonic_s();
    const auto total = send_until(streams, sampler, start + options.seconds);
    const bool all = confirmed(streams, sampler, total, start + options.limit_s);
    const auto end = monotonic_s();
    return JsonObject()
        .text("program", "network-stream")
        .text("role", "send")
        .boolean("verified", all)
        .number("duration_s", end - start)
        .integer("bytes", total)
        .raw("traffic", sampler.json())
        .raw("counters", counted_since(counters))
        .str();
}

}  // namespace aferir
