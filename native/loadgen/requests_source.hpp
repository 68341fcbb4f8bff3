#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

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

/// Moments and targets of the requests, drawn as they are needed: the same for the same plan, and
/// in the order of their moments. The plan has to last as long.
class Source {
  public:
    explicit Source(const Plan& plan);

    [[nodiscard]] bool done() const { return next_ >= plan_->duration; }
    [[nodiscard]] Nanoseconds next() const { return next_; }
    /// Only while there is one.
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
