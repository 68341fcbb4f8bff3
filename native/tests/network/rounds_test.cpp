#include "network/rounds.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "network/sweep.hpp"

namespace aferir::network {
namespace {

/// One direction of a network within the process.
class Way {
  public:
    void put(std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        ++messages_;
        if (messages_ == spoiled_) {
            bytes_.back() ^= std::byte{0x10};
        }
        came_.notify_all();
    }
    void take(std::span<std::byte> bytes) {
        std::unique_lock lock(mutex_);
        came_.wait(lock, [&] { return bytes_.size() >= bytes.size(); });
        std::copy_n(bytes_.begin(), bytes.size(), bytes.begin());
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
    }
    /// Flips the fifth-last bit of message number `message`, counted from 1.
    void spoil(std::uint64_t message) { spoiled_ = message; }

  private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::byte> bytes_;
    std::uint64_t messages_ = 0;
    std::uint64_t spoiled_ = 0;
};

struct FakeLine {
    Way* out_way;
    Way* in_way;
    void send(std::span<const std::byte> bytes) const { out_way->put(bytes); }
    void receive(std::span<std::byte> bytes) const { in_way->take(bytes); }
    void exchange(std::span<const std::byte> out, std::span<std::byte> in) const {
        if (!out.empty()) {
            send(out);
        }
        if (!in.empty()) {
            receive(in);
        }
    }
};

/// A clock that advances by seven nanoseconds at each reading.
struct FakeClock {
    std::uint64_t now = 0;
    std::uint64_t operator()() { return now += 7; }
};

/// Results of a trial at both ends, with the errors that each finds in the data.
struct Outcome {
    std::optional<std::size_t> initiator;
    std::optional<std::size_t> responder;
    std::uint64_t duration_ns = 0;
    Histogram rounds;

    [[nodiscard]] bool wrong() const { return initiator.has_value() || responder.has_value(); }
};

Outcome run(const Trial& trial, std::uint64_t spoil_there = 0, std::uint64_t spoil_back = 0) {
    Way there;
    Way back;
    there.spoil(spoil_there);
    back.spoil(spoil_back);
    Buffers own(trial.bytes);
    Buffers other(trial.bytes);
    own.prepare(trial, End::kInitiator);
    other.prepare(trial, End::kResponder);
    Outcome outcome;
    {
        const std::jthread responder([&] {
            FakeLine line{&back, &there};
            respond(line, other, trial);
        });
        FakeLine line{&there, &back};
        FakeClock clock;
        outcome.duration_ns = initiate(line, own, trial, clock, outcome.rounds);
    }
    outcome.initiator = own.wrong(trial, End::kInitiator);
    outcome.responder = other.wrong(trial, End::kResponder);
    return outcome;
}

constexpr Mode kModes[] = {Mode::kBlocking, Mode::kAsync, Mode::kBidirectional, Mode::kStream};

TEST(Rounds, DataIsRightAfterAnyNumberOfRounds) {
    for (const auto mode : kModes) {
        for (const std::uint64_t rounds : {1U, 2U, 3U, 10U}) {
            for (const std::uint64_t bytes : {1U, 5U, 4096U}) {
                const auto outcome = run({mode, bytes, rounds, 99});
                EXPECT_FALSE(outcome.wrong()) << word_of(mode) << " " << rounds << " " << bytes;
                EXPECT_EQ(outcome.rounds.total(), rounds);
                EXPECT_EQ(outcome.duration_ns, 7 * rounds);
            }
        }
    }
}

TEST(Rounds, ABitThatTurnsOverInAnyMessageIsFound) {
    for (const auto mode : {Mode::kBlocking, Mode::kAsync, Mode::kBidirectional}) {
        for (const std::uint64_t rounds : {1U, 4U, 5U}) {
            for (std::uint64_t message = 1; message <= rounds; ++message) {
                const Trial trial{mode, 100, rounds, 99};
                EXPECT_TRUE(run(trial, message, 0).wrong()) << word_of(mode) << " " << message;
                EXPECT_TRUE(run(trial, 0, message).wrong()) << word_of(mode) << " " << message;
            }
        }
    }
    EXPECT_EQ(run({Mode::kStream, 100, 4, 99}, 4).responder, 99U);
}

TEST(Rounds, StampsOfBothEndsAreNoted) {
    Way there;
    Way back;
    const Trial trial{Mode::kBlocking, 8, 5, 1, true};
    Buffers own(8);
    Buffers other(8);
    own.prepare(trial, End::kInitiator);
    other.prepare(trial, End::kResponder);
    Stamps here;
    Stamps far;
    {
        const std::jthread responder([&] {
            FakeLine line{&back, &there};
            FakeClock clock;
            respond_stamped(line, other, trial, clock, far);
        });
        FakeLine line{&there, &back};
        FakeClock clock;
        initiate_stamped(line, own, trial, clock, here);
    }
    EXPECT_EQ(here.sent.size(), 5U);
    EXPECT_EQ(here.returned.size(), 5U);
    EXPECT_EQ(far.arrived.size(), 5U);
    EXPECT_EQ(far.answered.size(), 5U);
    EXPECT_EQ(own.wrong(trial, End::kInitiator), std::nullopt);
}

/// A network whose rounds take 1 us plus 1 ns per byte; every second trial is disturbed.
class SimulatedTransport : public Transport {
  public:
    TrialResult run(const Trial& trial) override {
        trials.push_back(trial);
        const double round_s = 1e-6 + 1e-9 * static_cast<double>(trial.bytes);
        TrialResult result;
        result.mean_s = round_s * static_cast<double>(trial.rounds) * (1 + calls_++ % 2);
        result.longest_s = result.mean_s;
        for (std::uint64_t i = 0; i < trial.rounds; ++i) {
            result.rounds.add(static_cast<std::uint64_t>(round_s * 1e9));
        }
        return result;
    }
    std::optional<Delays> run_stamped(const Trial& /*trial*/) override { return std::nullopt; }

    std::vector<Trial> trials;

  private:
    int calls_ = 0;
};

TEST(Sweep, TheBestTrialIsTheLatencyAndHalfOfARound) {
    SimulatedTransport transport;
    SweepOptions options;
    options.most_bytes = 1000;
    options.perturbation = 0;
    options.rule.seconds = 1e-3;
    const auto sizes = sweep(transport, options);
    ASSERT_EQ(sizes.size(), message_sizes(1, 1000, 0).size());
    for (const auto& size : sizes) {
        const double round_s = 1e-6 + 1e-9 * static_cast<double>(size.bytes);
        EXPECT_NEAR(size.latency_s, round_s / 2, 1e-12);
        EXPECT_NEAR(size.throughput_bps, static_cast<double>(size.bytes) / (round_s / 2), 1.0);
        EXPECT_EQ(size.round_ns.total(), 3 * size.rounds);
    }
    // For each size one untimed trial and three timed ones, all with different data.
    EXPECT_EQ(transport.trials.size(), 4 * sizes.size());
    EXPECT_NE(transport.trials[1].seed, transport.trials[2].seed);
}

TEST(Sweep, BothDirectionsCountWhereBothSendAtOnce) {
    SweepOptions options;
    options.mode = Mode::kBidirectional;
    options.least_bytes = options.most_bytes = 1000;
    options.perturbation = 0;
    options.pairs = 2;
    SimulatedTransport transport;
    const auto figures = sweep(transport, options).at(0);
    EXPECT_NEAR(figures.latency_s, 2e-6, 1e-12);
    EXPECT_NEAR(figures.throughput_bps, 2 * 2 * 1000 / 2e-6, 1.0);
}

TEST(Sweep, AQuantileThatTooFewRoundsHaveIsNotSaid) {
    SweepOptions options;
    options.least_bytes = options.most_bytes = 1;
    options.rule.fixed_rounds = 50;  // 150 in three trials
    SimulatedTransport transport;
    const auto line = result_line(JsonObject().text("program", "net-sweep"), options,
                                  sweep(transport, options), 1.5);
    EXPECT_NE(line.find("\"p99_s\""), std::string::npos);
    EXPECT_EQ(line.find("\"p999_s\""), std::string::npos);
    EXPECT_EQ(line.find("there_s"), std::string::npos);
    EXPECT_NE(line.find("\"verified\":true"), std::string::npos);
}

}  // namespace
}  // namespace aferir::network
