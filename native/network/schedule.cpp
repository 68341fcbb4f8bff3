#include "network/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace aferir::network {
namespace {

std::uint64_t fitting(double seconds, double round_s, std::uint64_t least, std::uint64_t most) {
    const double rounds = round_s > 0 ? seconds / round_s : 0;
    return std::clamp(static_cast<std::uint64_t>(std::min(rounds, 1e15)), least, most);
}

}  // namespace

std::vector<std::uint64_t> message_sizes(std::uint64_t least, std::uint64_t most,
                                         std::uint64_t perturbation) {
    std::vector<std::uint64_t> sizes;
    std::uint64_t step = least > 1 ? least / 2 : 1;
    std::uint64_t size = least;
    for (int point = least > 1 ? 1 : 0; size <= most; ++point, size += step) {
        if (point > 2 && point % 2 == 1) {
            step *= 2;
        }
        const bool perturbed = perturbation > 0 && step > perturbation + 1 && size > perturbation;
        if (perturbed) {
            sizes.insert(sizes.end(), {size - perturbation, size, size + perturbation});
        } else {
            sizes.push_back(size);
        }
    }
    // If the perturbation is not smaller than the step, neighbours overlap.
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

std::uint64_t rounds_of_trial(const TrialRule& rule, double round_s) {
    if (rule.fixed_rounds > 0) {
        return rule.fixed_rounds;
    }
    return fitting(rule.seconds, round_s, rule.least_rounds, rule.most_rounds);
}

std::uint64_t rounds_of_warm_up(const TrialRule& rule, double round_s) {
    if (rule.fixed_rounds > 0) {
        return std::max<std::uint64_t>(1, rule.fixed_rounds / 10);
    }
    return fitting(rule.seconds / 10, round_s, 1, rule.most_rounds);
}

}  // namespace aferir::network
