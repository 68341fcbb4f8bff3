#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/histogram.hpp"

namespace aferir::network {

/// Pattern of messages between two ends.
enum class Mode : std::uint8_t {
    kBlocking,  ///< one sends, the other sends back
    kAsync,     ///< the same; each receive is posted before the message is sent that it waits for
    kBidirectional,  ///< both send at once
    kStream          ///< one sends all, the other confirms the last
};

/// Parses a mode. Errors: UsageError for any other word.
Mode mode_of(std::string_view word);
std::string_view word_of(Mode mode);

/// Parameters of a trial, the same for all pairs at once.
struct Trial {
    Mode mode = Mode::kBlocking;
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    std::uint64_t seed = 0;  ///< of the data
    bool stamped = false;    ///< records when each message leaves and arrives; blocking mode only
};

/// Times in a stamped trial, one entry per round, each by the clock of its own end.
struct Stamps {
    std::vector<std::uint64_t> sent;      ///< initiator, before it sends
    std::vector<std::uint64_t> arrived;   ///< responder
    std::vector<std::uint64_t> answered;  ///< responder, before it sends back
    std::vector<std::uint64_t> returned;  ///< initiator
};

/// Durations of one trial over all pairs.
struct TrialResult {
    double mean_s = 0;     ///< of the pairs
    double longest_s = 0;  ///< of the slowest pair
    Histogram rounds;      ///< each round of each pair
};

/// One-way delays of one trial, in seconds.
struct Delays {
    std::vector<double> there_s;
    std::vector<double> back_s;
    std::optional<double> bound_s;  ///< half-width, if the clocks of two hosts have a bound
};

/// Received data differs from what was sent: such a run has no figures.
class CorruptData : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~CorruptData() override;
};

/// A sentence about a wrong byte at one end.
std::string corruption(const Trial& trial, std::size_t at, std::string_view end);

/// One end of a pair.
enum class End : std::uint8_t { kInitiator, kResponder };

/// Memory from which messages are sent, and into which they are received.
///
/// In blocking mode it is one buffer, as NetPIPE has it: a message is sent back from where it was
/// received. The responder's buffer is cleared before, so an error in any message of a trial is
/// passed on and found at the end, outside the timed part. Modes that receive while they send have
/// two buffers, which are exchanged after each round, to the same effect. In a stream only the last
/// message is checked.
class Buffers {
  public:
    /// Room for messages up to `most_bytes`. Errors: OutOfMemory.
    explicit Buffers(std::size_t most_bytes);

    void prepare(const Trial& trial, End end);
    void swap() { std::swap(out_, in_); }
    [[nodiscard]] std::span<std::byte> out() const { return out_; }
    [[nodiscard]] std::span<std::byte> in() const { return in_; }
    /// First byte that differs from the expected value after all rounds.
    [[nodiscard]] std::optional<std::size_t> wrong(const Trial& trial, End end) const;

  private:
    std::vector<std::byte> memory_;
    std::span<std::byte> first_;
    std::span<std::byte> second_;
    std::span<std::byte> out_;
    std::span<std::byte> in_;
};

}  // namespace aferir::network
