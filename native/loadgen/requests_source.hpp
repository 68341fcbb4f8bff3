#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

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
    /// Current target after redirections; nothing without any.
    std::shared_ptr<const Hop> hop = nullptr;
};

/// Draws times and targets of requests as they are needed, in order of time; equal plans give equal
/// requests. The plan must outlive it.
class Source {
  public:
    explicit Source(const Plan& plan);

    [[nodiscard]] bool done() const { return next_ >= plan_->duration; }
    [[nodiscard]] Nanoseconds next() const { return next_; }
    /// Removes and returns the next request; there must be one.
    Wanted take();

  private:
    void draw();

    const Plan* plan_;
    std::mt19937_64 random_;
    std::discrete_distribution<std::uint32_t> choose_;
    std::size_t step_ = 0;
    Nanoseconds next_ = 0;
};

}  // namespace aferir::loadgen
