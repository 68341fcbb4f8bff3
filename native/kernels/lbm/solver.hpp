#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "common/memory.hpp"
#include "lbm/run.hpp"

namespace aferir::lbm {

/// The processes of one program, possibly only one; the rest of the code accesses MPI through this
/// class only.
class World {
  public:
    World() = default;
    virtual ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    World(World&&) = delete;
    World& operator=(World&&) = delete;

    [[nodiscard]] virtual int id() const = 0;
    [[nodiscard]] virtual int count() const = 0;
    [[nodiscard]] virtual double seconds() const = 0;
    virtual void wait() const = 0;
    [[nodiscard]] virtual double sum(double value) const = 0;
    [[nodiscard]] virtual double largest(double value) const = 0;
    /// Exchange that these cells need with other ranks; `cells` outlives it.
    [[nodiscard]] virtual std::unique_ptr<Exchange> exchange(const Cells& cells) const = 0;
};

/// How to compute: nothing here changes the result beyond rounding.
struct Execution {
    Advance* advance = nullptr;
    int threads = 1;
    int block_steps = 0;     ///< time steps in one pass over the memory; 0: what the caches hold
    int tile = 0;            ///< rows; 0: what the caches hold
    double cache_bytes = 0;  ///< of one thread
};

struct Physics {
    double viscosity = 1.0 / 6;
    Drive drive;
};

/// Sums over all cells of all ranks.
struct Totals {
    double mass = 0;      ///< less that at rest
    double momentum = 0;  ///< along x, in the middle of the force's step
};

class Solver {
  public:
    /// Makes a solver with the fluid at rest. Errors: UsageError, OutOfMemory.
    Solver(const Geometry& geometry, const Physics& physics, const Execution& execution,
           const World& world);

    /// Sets the fluid to rest again.
    void rest();

    /// `steps` is even.
    void advance(int steps);

    [[nodiscard]] Totals totals() const;

    [[nodiscard]] const Cells& cells() const { return *cells_; }
    [[nodiscard]] const Work& work() const { return work_; }
    /// Population q of cell i, less its weight, is at q * cells().stride + i.
    [[nodiscard]] std::span<double> populations() const { return f_.span(); }
    [[nodiscard]] int tile() const { return tile_; }

  private:
    void share_rows_among_threads();
    void block(const Execution& execution);
    void touch();

    const World& world_;
    std::unique_ptr<Cells> cells_;  // stays where it is, for work_ and exchange_
    HugeArray<double> f_;
    std::unique_ptr<Exchange> exchange_;
    Work work_;
    Advance* advance_;
    int tile_ = 0;
};

}  // namespace aferir::lbm
