#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ocean/helpers.hpp"
#include "ocean/model.hpp"
#include "ocean/places.hpp"

namespace aferir::ocean {

/// Process beside the computation, and the clock that stamps the steps.
enum class Arm {
    kRgap,     ///< MPI_Wtime, set once at the start; nothing else runs
    kControl,  ///< the same again: its difference from kRgap is chance
    kNtpLike,  ///< a clock that a daemon on each node keeps setting, or chronyd, stamps the steps
    kNoise,    ///< as kRgap, beside a daemon on each node that works at intervals
};

inline constexpr int kArms = 4;
const char* name_of(Arm arm);

struct Disturbances {
    std::string helper;    ///< path of ocean-helper
    int nodes = 1;         ///< groups of ranks, each with a daemon and a clock of its own
    bool chronyd = false;  ///< kNtpLike has a chronyd on each host but rank 0's, its server
    long long ntp_period_us = 100000;
    long long ntp_exchanges = 4;
    long long noise_period_us = 100000;
    long long noise_work_us = 2500;
};

/// Results of one run of an arm, the same on every rank. Times are of CLOCK_MONOTONIC_RAW unless
/// stated otherwise.
struct ArmRun {
    double duration_s = 0;        ///< all steps, until the last rank has ended
    std::vector<double> steps_s;  ///< each step by the arm's own clock, first to last rank
    double steps_error_s = 0;     ///< largest error of a step's time by the arm's own clock
    double clock_error_s = 0;     ///< largest error of any stamp against the reference node
    double sums_share = 0;        ///< of the ranks' time spent in global sums
    double halos_share = 0;       ///< and spent waiting for neighbours' cells
    double helpers_cpu_s = 0;     ///< used by the daemons and their server
    double wake_ups = 0;          ///< of the daemons that set clocks
    double messages = 0;          ///< that those daemons exchanged
    long long iterations = 0;     ///< of the solver
    bool converged = true;
    std::uint64_t fingerprint = 0;
};

/// Runs arms of one model. Collective over the ranks of `messages`.
class Arms {
  public:
    Arms(Messages& messages, Model& model, const Disturbances& disturbances);
    ~Arms();
    Arms(const Arms&) = delete;
    Arms& operator=(const Arms&) = delete;

    /// Restarts the model and computes `steps` steps.
    ArmRun run(Arm arm, int steps);

    [[nodiscard]] const Places& places() const { return places_; }
    /// Number of hosts whose system clocks chronyd steers.
    [[nodiscard]] int steered() const;

  private:
    struct Stamp {
        double clock;
        double raw;
    };
    [[nodiscard]] double now(Arm arm) const;
    [[nodiscard]] Stamp stamp(Arm arm) const;
    /// CLOCK_MONOTONIC_RAW of rank 0's host.
    [[nodiscard]] double raw_there() const { return raw_seconds() - places_.ahead_s; }
    [[nodiscard]] bool steers() const;
    [[nodiscard]] std::vector<std::unique_ptr<Helper>> start_helpers(Arm arm) const;
    /// Collective. Errors: std::runtime_error on all ranks if any helper failed.
    double stop_helpers(std::vector<std::unique_ptr<Helper>>& helpers) const;
    void take_steps(Arm arm, int steps, ArmRun& run, std::vector<Stamp>& stamps);
    void judge_stamps(Arm arm, const std::vector<Stamp>& stamps, ArmRun& run) const;

    Messages& messages_;
    Model& model_;
    Disturbances disturbances_;
    Places places_;
    MPI_Comm node_ = MPI_COMM_NULL;
    bool leads_ = false;
    std::unique_ptr<SharedClock> clock_;
};

/// Order of the arms in a round: different in each round, the same on every rank.
std::vector<Arm> order_of(int round);

}  // namespace aferir::ocean
