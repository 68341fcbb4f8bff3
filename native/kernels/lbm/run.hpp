#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lbm/cells.hpp"
#include "lbm/lattice.hpp"
#include "lbm/schedule.hpp"

namespace aferir::lbm {

/// Exchange of ghosts between ranks; called by one thread of each. Not used without other ranks.
class Exchange {
  public:
    Exchange() = default;
    virtual ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    Exchange(Exchange&&) = delete;
    Exchange& operator=(Exchange&&) = delete;

    /// After an even step: sends the values of this rank's places of which others have ghosts.
    virtual void start_ghosts(double* f) = 0;
    virtual void progress() = 0;
    /// Returns when this rank's ghosts have arrived.
    virtual void finish_ghosts() = 0;
    /// After an odd step: returns the ghosts to the ranks that own their places.
    virtual void return_ghosts(double* f) = 0;
};

/// Bounds of the threads' shares: thread t has the rows numbered from bound t to bound t + 1.
struct Shares {
    std::vector<std::size_t> all;
    std::vector<std::size_t> border;  ///< into Work::border
};

/// Work of one rank.
struct Work {
    const Cells* cells = nullptr;
    double* f = nullptr;
    Relaxation rates{};
    Drive drive;
    int threads = 1;
    Schedule schedule;
    Shares shares;
    std::vector<std::size_t> border;  ///< rows with ghosts
    Exchange* exchange = nullptr;     ///< none if there is one rank
};

/// Runs an even number of steps. Compiled for each level of the instruction set.
using Advance = void(const Work& work, int steps);

}  // namespace aferir::lbm
