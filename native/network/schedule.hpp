#pragma once

#include <cstdint>
#include <vector>

namespace aferir::network {

/// Sizes of messages in bytes, rising, as NetPIPE 3.7 chooses them: about two a doubling, and from
/// 16 bytes on each with `perturbation` bytes less and more, to find what a round number hides
/// (Snell, Mikler, Gustafson, NetPIPE, IASTED 1996). The last one may exceed `most` by
/// `perturbation`.
std::vector<std::uint64_t> message_sizes(std::uint64_t least, std::uint64_t most,
                                         std::uint64_t perturbation);

/// What bounds a trial.
struct TrialRule {
    double seconds = 0.05;
    std::uint64_t fixed_rounds = 0;  ///< not 0: so many, however long they take
    std::uint64_t least_rounds = 3;
    std::uint64_t most_rounds = 1'000'000;
};

/// Rounds of a trial when one is expected to take `round_s` seconds.
std::uint64_t rounds_of_trial(const TrialRule& rule, double round_s);

/// Rounds of the untimed trial that goes before, a tenth: it warms up and tells how long one takes.
std::uint64_t rounds_of_warm_up(const TrialRule& rule, double round_s);

}  // namespace aferir::network
