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

/// A request, from its moment to its answer.
struct Wanted {
    Nanoseconds intended = 0;
    std::uint32_t target = 0;
    bool again = false;
    /// Addresses of the host that have failed it.
    std::size_t tried = 0;
    /// Where redirections have led it; nothing where it is its target itself.
    std::shared_ptr<const Hop> hop = nullptr;
};

/// Moments and targets of the requests, drawn as they are needed and in the order of their moments.
/// Those of an open loop are the same for the same plan. The plan has to last as long.
class Source {
  public:
    explicit Source(const Plan& plan);

    /// Of a closed loop also while all users wait for answers.
    [[nodiscard]] bool done() const { return next() >= plan_->duration; }
    [[nodiscard]] Nanoseconds next() const {
        return moments_.empty() ? plan_->duration : moments_.top();
    }
    /// Only while there is one.
    Wanted take();
    /// A user of a closed loop has been answered at that moment. Of an open one nothing depends on
    /// it.
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
    /// Of those that are to be taken, the earliest first: one of an open loop, and one for each
    /// user who thinks of a closed one.
    std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> moments_;
};

}  // namespace aferir::loadgen
