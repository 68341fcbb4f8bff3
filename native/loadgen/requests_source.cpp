#include "loadgen/requests_source.hpp"

#include <algorithm>
#include <vector>

namespace aferir::loadgen {

Source::Source(const Plan& plan) : plan_(&plan), random_(plan.seed) {
    std::vector<double> weights;
    weights.reserve(plan.targets.size());
    for (const Weighted& one : plan.targets) {
        weights.push_back(one.weight);
    }
    choose_ = std::discrete_distribution<std::uint32_t>(weights.begin(), weights.end());
    draw();
}

Wanted Source::take() {
    const Wanted made{next_, choose_(random_), false};
    draw();
    return made;
}

/// Without memory, so at a step of the rate it is drawn anew from there.
void Source::draw() {
    for (; step_ < plan_->steps.size(); ++step_) {
        const Step& step = plan_->steps[step_];
        const Nanoseconds end =
            step_ + 1 < plan_->steps.size() ? plan_->steps[step_ + 1].after : plan_->duration;
        next_ = std::max(next_, step.after);
        if (step.rate > 0.0) {
            std::exponential_distribution<double> distance(step.rate);
            next_ += static_cast<Nanoseconds>(std::min(distance(random_), 1e6) * 1e9);
            if (next_ < end) {
                return;
            }
        }
        next_ = end;
    }
    next_ = plan_->duration;
}

}  // namespace aferir::loadgen
