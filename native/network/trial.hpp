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

/// How two ends exchange messages.
enum class Mode : std::uint8_t {
    kBlocking,       ///< one sends, the other sends back
    kAsync,          ///< the same, each receive posted before the message that it answers is sent
    kBidirectional,  ///< both send at once
    kStream          ///< one sends all, the other confirms the last
};

/// Errors: UsageError for a word that is no mode.
Mode mode_of(std::string_view word);
std::string_view word_of(Mode mode);

/// What one pair of ends does, all pairs at once.
struct Trial {
    Mode mode = Mode::kBlocking;
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    std::uint64_t seed = 0;  ///< of the data
    bool stamped = false;    ///< note when each message leaves and arrives; blocking mode only
};

/// What both ends noted of a stamped trial, one entry a round, each by its own clock.
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
    std::optional<double> bound_s;  ///< half-width, where the clocks of two hosts say it
};

/// Data came out of the network that did not go in: no figure is taken from such a run.
class CorruptData : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    ~CorruptData() override;
};

/// A sentence for a byte that is wrong at one end.
std::string corruption(const Trial& trial, std::size_t at, std::string_view end);

/// Which end of a pair.
enum class End : std::uint8_t { kInitiator, kResponder };

/// The memory that messages are sent from and received into.
///
/// In blocking mode it is one buffer, as NetPIPE has it: a message is sent back from where it came
/// to. The responder's was cleared before, so whatever goes wrong with any message of a trial is
/// handed on and found at the end, outside of the timed part. In the other modes that receive while
/// they send there are two buffers that change their places after each round, to the same effect.
/// In a stream only the last message is seen.
class Buffers {
  public:
    /// Room for messages up to `most_bytes`. Errors: OutOfMemory.
    explicit Buffers(std::size_t most_bytes);

    void prepare(const Trial& trial, End end);
    void swap() { std::swap(out_, in_); }
    [[nodiscard]] std::span<std::byte> out() const { return out_; }
    [[nodiscard]] std::span<std::byte> in() const { return in_; }
    /// The first byte that is not what it has to be after all rounds.
    [[nodiscard]] std::optional<std::size_t> wrong(const Trial& trial, End end) const;

  private:
    std::vector<std::byte> memory_;
    std::span<std::byte> first_;
    std::span<std::byte> second_;
    std::span<std::byte> out_;
    std::span<std::byte> in_;
};

}  // namespace aferir::network
