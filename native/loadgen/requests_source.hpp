#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "loadgen/hop.hpp"
#include "loadgen/requests.hpp"

namespace aferir::loadgen {

/// A request, from the time at which it is due to its answer.
struct Wanted {
    Nanoseconds intended = 0;
    std::uint32_t target = 0;
    bool again = false;
    /// Number of the host's addresses that have failed this request.
    std::size_t tried = 0;
    /// Target to which redirections have led; nothing if there was none.
    std::shared_ptr<const Hop> hop = nullptr;
};

/// Draws times and targets of requests as they are needed, in order of time. Equal plans of an open
/// loop give equal requests. The plan must outlive it.
class Source {
  public:
    explicit Source(const Plan& plan);

    /// In a closed loop true also while all users wait for answers.
    [[nodiscard]] bool done() const { return next() >= plan_->duration; }
    [[nodiscard]] Nanoseconds next() const {
        return moments_.empty() ? plan_->duration : moments_.top();
    }
    /// Removes and returns the next request; there must be one.
    Wanted take();
    /// Schedules the next request of a user whose answer came at `moment`; nothing in an open loop.
    void ended(Nanoseconds moment);

  private:
    void draw();
    Nanoseconds exponential(double mean_s);

    const Plan* plan_;
    std::mt19937_64 random_;
    std::discrete_distribution<std::uint32_t> choose_;
    std::size_t step_ = 0;
    /// The latest moment that was drawn for an open loop.
    Nanoseconds drawn_ = 0;
    /// Due times of requests not yet taken, earliest first: the next one of an open loop, or one
    /// for each user of a closed loop who is thinking.
    std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> moments_;
};

}  // namespace aferir::loadgen
