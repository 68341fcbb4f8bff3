#include "network/client.hpp"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "aferir/rgap.h"
#include "network/rounds.hpp"

namespace aferir::network {

/// One trial of all pairs.
struct TcpTransport::Run {
    Run(const Trial& asked, std::size_t pairs)
        : trial(asked), begin(static_cast<std::ptrdiff_t>(pairs)) {}

    Trial trial;
    std::barrier<> begin;
    std::mutex mutex;  // of all that follows
    TrialResult result;
    Stamps stamps;
    std::exception_ptr failure;
};

TcpTransport::TcpTransport(const ClientOptions& options) : global_(nullptr, rgap_destroy) {
    for (std::uint64_t i = 0; i < options.pairs; ++i) {
        auto connection = connect_to(options.server, options.socket);
        introduce(connection, options, i == 0);
        pairs_.push_back({std::move(connection), Buffers(options.most_bytes)});
    }
}

TcpTransport::~TcpTransport() {
    for (auto& pair : pairs_) {
        try {
            pair.connection.send_frame(Bye{});
        } catch (const NetworkError&) {
            continue;  // it is gone already
        }
    }
}

void TcpTransport::introduce(Connection& connection, const ClientOptions& options, bool first) {
    const bool with_clock =
        first && options.clock.value_or(SharedClock::kRgap) == SharedClock::kRgap;
    connection.send_frame(Hello{options.token, host_identity(),
                                with_clock ? SharedClock::kRgap : SharedClock::kNone});
    const auto welcome = connection.expect<Welcome>();
    if (first) {
        choose_clock(welcome, options);
    }
}

void TcpTransport::choose_clock(const Welcome& welcome, const ClientOptions& options) {
    const bool one_host = welcome.host != 0 && welcome.host == host_identity();
    const bool counter = one_host && welcome.counter_trusted == 1 && timeline_.counter_trusted();
    const auto wanted =
        options.clock.value_or(counter ? SharedClock::kCounter : SharedClock::kRgap);
    if (wanted == SharedClock::kCounter && counter) {
        clock_ = SharedClock::kCounter;
    }
    if (wanted != SharedClock::kRgap || welcome.clock_port == 0) {
        return;
    }
    rgap_config config{};
    rgap_config_init(&config);
    config.address = options.server.host.c_str();
    config.port = welcome.clock_port;
    config.key = reinterpret_cast<const std::uint8_t*>(options.token.data());
    config.key_length = options.token.size();
    config.source = rgap_source_rvec(timeline_.handle());
    rgap* found = nullptr;
    if (rgap_create(&found, &config) == RGAP_OK) {
        global_.reset(found);
        clock_ = SharedClock::kRgap;
    }
}

TrialResult TcpTransport::run(const Trial& trial) {
    Run run(trial, pairs_.size());
    run_all(run);
    run.result.mean_s /= static_cast<double>(pairs_.size());
    return std::move(run.result);
}

std::optional<Delays> TcpTransport::run_stamped(const Trial& trial) {
    if (clock_ == SharedClock::kNone) {
        return std::nullopt;
    }
    if (global_) {
        rgap_poll(global_.get());
    }
    Run run(trial, pairs_.size());
    run_all(run);
    return delays_of(run.stamps);
}

void TcpTransport::run_all(Run& run) {
    {
        // The first pair stays in this thread, so that one pair alone needs no other.
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < pairs_.size(); ++i) {
            others.emplace_back([this, &run, i] { take_part(i, run); });
        }
        take_part(0, run);
    }
    if (run.failure) {
        std::rethrow_exception(run.failure);
    }
}

// A pair that fails lets the others go: none may wait for it.
void TcpTransport::take_part(std::size_t pair, Run& run) {
    bool begun = false;
    try {
        auto& own = pairs_.at(pair);
        const bool stamped = run.trial.stamped;
        own.buffers.prepare(run.trial, End::kInitiator);
        own.connection.send_frame(Start{run.trial, clock_});
        own.connection.expect<Ready>();
        begun = true;
        run.begin.arrive_and_wait();
        measure(own, run, stamped && pair == 0);
    } catch (...) {
        if (!begun) {
            run.begin.arrive_and_drop();
        }
        const std::scoped_lock lock(run.mutex);
        if (!run.failure) {
            run.failure = std::current_exception();
            for (auto& other : pairs_) {
                other.connection.abort();
            }
        }
    }
}

void TcpTransport::measure(Pair& pair, Run& run, bool stamped) {
    Timeline::Reader reader(timeline_);
    Timeline::Ticks ticks;
    Histogram rounds;
    Stamps stamps;
    std::uint64_t duration_ns = 0;
    if (!stamped) {
        duration_ns = initiate(pair.connection, pair.buffers, run.trial, reader, rounds);
    } else if (clock_ == SharedClock::kCounter) {
        initiate_stamped(pair.connection, pair.buffers, run.trial, ticks, stamps);
    } else {
        initiate_stamped(pair.connection, pair.buffers, run.trial, reader, stamps);
    }
    auto done = pair.connection.expect<Done>();
    if (!done.error.empty()) {
        throw CorruptData(done.error);
    }
    if (const auto at = pair.buffers.wrong(run.trial, End::kInitiator)) {
        throw CorruptData(corruption(run.trial, *at, "client"));
    }
    const double seconds = static_cast<double>(duration_ns) * 1e-9;
    const std::scoped_lock lock(run.mutex);
    run.result.mean_s += seconds;
    run.result.longest_s = std::max(run.result.longest_s, seconds);
    run.result.rounds.merge(rounds);
    if (stamped) {
        run.stamps = std::move(stamps);
        run.stamps.arrived = std::move(done.arrived);
        run.stamps.answered = std::move(done.answered);
    }
}

std::optional<Delays> TcpTransport::delays_of(const Stamps& stamps) {
    if (stamps.arrived.size() != stamps.sent.size()) {
        throw ProtocolError("the server noted another number of messages than were sent");
    }
    Delays delays;
    std::uint64_t widest = 0;
    // The other end's times are in its own clock, which is the global time; `own` is a reading of
    // this end's clock.
    const auto since = [&](std::uint64_t own, std::uint64_t other) {
        if (clock_ == SharedClock::kCounter) {
            return timeline_.seconds_between(own, other);
        }
        std::uint64_t global = 0;
        std::uint64_t bound = 0;
        rgap_at(global_.get(), own, &global, &bound);
        widest = std::max(widest, bound);
        return static_cast<double>(static_cast<std::int64_t>(other - global)) * 1e-9;
    };
    for (std::size_t i = 0; i < stamps.sent.size(); ++i) {
        delays.there_s.push_back(since(stamps.sent[i], stamps.arrived[i]));
        delays.back_s.push_back(-since(stamps.returned[i], stamps.answered[i]));
    }
    if (clock_ == SharedClock::kRgap) {
        delays.bound_s = static_cast<double>(widest) * 1e-9;
    }
    return delays;
}

}  // namespace aferir::network
