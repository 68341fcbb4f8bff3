#pragma once

#include <cstdint>
#include <vector>

namespace aferir::network {

/// Message sizes in bytes, ascending, as NetPIPE 3.7 chooses them: about two per doubling, and from
/// 16 bytes on each also with `perturbation` bytes less and more, to find effects that round
/// numbers hide (Snell, Mikler, Gustafson, NetPIPE, IASTED 1996). The last one may exceed `most` by
/// `perturbation`.
std::vector<std::uint64_t> message_sizes(std::uint64_t least, std::uint64_t most,
                                         std::uint64_t perturbation);

/// Limits of a trial.
struct TrialRule {
    double seconds = 0.05;
    std::uint64_t fixed_rounds = 0;  ///< number of rounds, whatever their duration; 0: not fixed
    std::uint64_t least_rounds = 3;
    std::uint64_t most_rounds = 1'000'000;
};

/// Number of rounds of a trial if one is expected to take `round_s` seconds.
std::uint64_t rounds_of_trial(const TrialRule& rule, double round_s);

/// Number of rounds of the untimed trial that comes first, a tenth of the others' number: it warms
/// up and shows how long a round takes.
std::uint64_t rounds_of_warm_up(const TrialRule& rule, double round_s);

}  // namespace aferir::network
