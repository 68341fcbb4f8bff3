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
    if (plan.users == 0) {
        draw();
    }
    const auto users = static_cast<Nanoseconds>(plan.users);
    for (Nanoseconds user = 0; user < users; ++user) {
        moments_.push(user * plan.warm_up / users);
    }
}

Wanted Source::take() {
    const Wanted made{moments_.top(), choose_(random_), false};
    moments_.pop();
    if (plan_->users == 0) {
        draw();
    }
    return made;
}

void Source::ended(Nanoseconds moment) {
    if (plan_->users > 0) {
        moments_.push(moment + exponential(static_cast<double>(plan_->think) * 1e-9));
    }
}

Nanoseconds Source::exponential(double mean_s) {
    if (mean_s <= 0.0) {
        return 0;
    }
    std::exponential_distribution<double> distance(1.0 / mean_s);
    return static_cast<Nanoseconds>(std::min(distance(random_), 1e6) * 1e9);
}

/// Exponential intervals have no memory, so an interval is drawn again at each step of the rate.
void Source::draw() {
    for (; step_ < plan_->steps.size(); ++step_) {
        const Step& step = plan_->steps[step_];
        const Nanoseconds end =
            step_ + 1 < plan_->steps.size() ? plan_->steps[step_ + 1].after : plan_->duration;
        drawn_ = std::max(drawn_, step.after);
        if (step.rate > 0.0) {
            drawn_ += exponential(1.0 / step.rate);
            if (drawn_ < end) {
                moments_.push(drawn_);
                return;
            }
        }
        drawn_ = end;
    }
}

}  // namespace aferir::loadgen
