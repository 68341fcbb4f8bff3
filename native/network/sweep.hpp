#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/json.hpp"
#include "network/schedule.hpp"
#include "network/trial.hpp"

namespace aferir::network {

/// Runs trials between the ends of all pairs. Errors: CorruptData, and those of the network.
class Transport {
  public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport();

    virtual TrialResult run(const Trial& trial) = 0;
    /// Delays in each direction of the first pair, during a stamped trial of all pairs; none if the
    /// ends share no clock.
    virtual std::optional<Delays> run_stamped(const Trial& trial) = 0;
};

struct SweepOptions {
    Mode mode = Mode::kBlocking;
    std::uint64_t pairs = 1;
    std::uint64_t least_bytes = 1;
    std::uint64_t most_bytes = std::uint64_t{1} << 20U;
    std::uint64_t perturbation = 3;
    std::uint64_t trials = 3;
    TrialRule rule;
};

/// Figures for one message size.
struct SizeFigures {
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;     ///< of each trial and pair
    double latency_s = 0;         ///< of the best trial; see `latency_of`
    double median_latency_s = 0;  ///< of the median trial
    double throughput_bps = 0;    ///< bytes a second of all pairs in the best trial
    Histogram round_ns;           ///< of all trials
    std::optional<Delays> delays;
};

/// Latency in seconds: half of a round trip, or a whole round if both ends send at once or only one
/// sends.
double latency_of(Mode mode, double round_s);
/// Number of messages in a round.
int messages_of(Mode mode);

/// Measures each size, after an untimed trial that shows how long a round takes.
std::vector<SizeFigures> sweep(Transport& transport, const SweepOptions& options);

/// Line of output of a sweep: `program`, extended by the parameters and the figures.
std::string result_line(JsonObject program, const SweepOptions& options,
                        const std::vector<SizeFigures>& sizes, double elapsed_s);

}  // namespace aferir::network
