#pragma once

#include <mpi.h>

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "ocean/grid.hpp"

namespace aferir::ocean {

/// CLOCK_MONOTONIC_RAW in seconds, which all ranks of a host share and no daemon adjusts.
double raw_seconds();

/// Communication of a process with the others, and the time for which it waited for them.
class Messages {
  public:
    /// Ranks of `comm` own the parts of `split` in their order.
    Messages(MPI_Comm comm, Shape shape, Split split);

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ranks() const { return ranks_; }
    [[nodiscard]] const Part& part() const { return part_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }
    /// Number of tiles of the whole grid.
    [[nodiscard]] std::size_t tiles() const { return tiles_; }

    /// Sends the part's border cells of `field` and starts to receive the neighbours'.
    void start_halo(std::span<double> field);
    /// Stores the received cells around the part's own; nothing is received across a wall.
    void finish_halo(std::span<double> field);
    void exchange_halo(std::span<double> field);

    /// Two sums over all tiles, whose bits do not depend on the number of processes. `bound`: an
    /// estimate of the largest term; if it was too small, another message determines it.
    std::array<double, 2> sums(std::span<const double> first, std::span<const double> second,
                               double bound);
    void reduce(std::span<double> values, MPI_Op operation);

    struct Waiting {
        double sums_s = 0;   ///< in global sums
        double halos_s = 0;  ///< for neighbours' cells, after own work was done
        long long sums = 0;
    };
    [[nodiscard]] Waiting waiting() const { return waiting_; }

  private:
    void all_reduce(std::span<double> values, MPI_Op operation);
    void wait(std::span<MPI_Request> requests) const;
    void pack(std::span<const double> field);

    MPI_Comm comm_;
    int rank_ = 0;
    int ranks_ = 1;
    bool gives_way_ = false;
    Part part_;
    Layout layout_;
    std::size_t tiles_;
    std::array<std::vector<double>, 4> columns_;
    std::array<MPI_Request, 8> requests_{};
    Waiting waiting_;
};

/// The part that `rank` of `comm` owns.
Part own_part(MPI_Comm comm, Shape shape, Split split);

}  // namespace aferir::ocean
