#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "common/json.hpp"
#include "network_stream/gaps.hpp"
#include "network_stream/network_stream.hpp"
#include "network_stream/pattern.hpp"
#include "network_stream/sampler.hpp"
#include "network_stream/sockets.hpp"

namespace aferir {
namespace {

struct Incoming {
    Descriptor socket;
    std::uint64_t had = 0;
    GapWatch gaps;
    bool ended = false;
};

class Receiver {
  public:
    explicit Receiver(const StreamOptions& options)
        : options_(options), listener_(listen_on(options)), sampler_(options.interval_s) {
        set_nonblocking(listener_);
        if (!options.ready.empty()) {
            std::ofstream(options.ready) << "listening\n";
        }
    }

    void run() {
        const auto limit = monotonic_s() + options_.limit_s;
        while (ended_ < options_.connections) {
            const auto now = monotonic_s();
            if (now > limit) {
                throw std::runtime_error("the streams have not ended in time");
            }
            sampler_.look(now, total_);
            wait(now);
        }
    }

    [[nodiscard]] std::string json(const Counters& counters) const {
        std::string bytes;
        std::string gaps;
        for (const auto& stream : streams_) {
            bytes += (bytes.empty() ? "" : ",") + std::to_string(stream.had);
            gaps += (gaps.empty() ? "" : ",") + std::to_string(stream.gaps.longest_s());
        }
        return JsonObject()
            .text("program", "network-stream")
            .text("role", "receive")
            .boolean("verified", intact_)
            .number("duration_s", gaps_.last_s() - gaps_.first_s())
            .integer("bytes", total_)
            .number("gap_s", gaps_.longest_s())
            .number("gap_after_s", gaps_.began_s() - gaps_.first_s())
            .raw("connection_bytes", "[" + bytes + "]")
            .raw("connection_gap_s", "[" + gaps + "]")
            .raw("traffic", sampler_.json())
            .raw("counters", counted_since(counters))
            .str();
    }

  private:
    void wait(double now) {
        std::vector<pollfd> waiting{{listener_.number(), POLLIN, 0}};
        for (const auto& stream : streams_) {
            waiting.push_back({stream.ended ? -1 : stream.socket.number(), POLLIN, 0});
        }
        if (poll(waiting.data(), waiting.size(), static_cast<int>(sampler_.due_in(now) * 1e3) + 1) <
            0) {
            fail("poll");
        }
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            if (waiting[i + 1].revents != 0) {
                read_some(streams_[i]);
            }
        }
        if (waiting[0].revents != 0) {
            accept_one();
        }
    }

    void accept_one() {
        const int descriptor = accept(listener_.number(), nullptr, nullptr);
        if (descriptor >= 0) {
            streams_.push_back({Descriptor(descriptor), 0, {}, false});
            set_nonblocking(streams_.back().socket);
        }
    }

    void read_some(Incoming& stream) {
        const auto count = recv(stream.socket.number(), buffer_.data(), buffer_.size(), 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (count < 0) {
            fail("receiving");
        }
        if (count == 0) {
            confirm(stream);
            return;
        }
        const auto data = std::span(buffer_).first(static_cast<std::size_t>(count));
        intact_ = intact_ && pattern_.matches(data, stream.had);
        stream.had += data.size();
        total_ += count;
        const auto now = monotonic_s();
        stream.gaps.note(now);
        gaps_.note(now);
    }

    void confirm(Incoming& stream) {
        std::array<std::byte, sizeof stream.had> answer{};
        for (std::size_t i = 0; i < answer.size(); ++i) {
            answer[answer.size() - 1 - i] = static_cast<std::byte>(stream.had >> (8 * i));
        }
        if (send(stream.socket.number(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) {
            fail("confirming");
        }
        stream.ended = true;
        ++ended_;
    }

    StreamOptions options_;
    Descriptor listener_;
    Sampler sampler_;
    Pattern pattern_;
    GapWatch gaps_;
    std::vector<Incoming> streams_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(Pattern::kChunk);
    std::int64_t total_ = 0;
    int ended_ = 0;
    bool intact_ = true;
};

}  // namespace

std::string receive_streams(const StreamOptions& options) {
    const auto counters = read_counters();
    Receiver receiver(options);
    receiver.run();
    return receiver.json(counters);
}

}  // namespace aferir
