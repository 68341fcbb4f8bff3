#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "network/sweep.hpp"
#include "network/timeline.hpp"

namespace aferir::network {

/// Messages between ranks of an MPI job: each rank from 0 to n-1 measures with the rank n above it.
/// With block placement the two ends of a pair are then on different hosts.
class MpiTransport : public Transport {
  public:
    /// Collective, after MPI_Init. `one_way`: search for a clock that all ranks share. Errors:
    /// UsageError unless there are two ranks for each pair.
    MpiTransport(std::uint64_t pairs, std::uint64_t most_bytes, bool one_way);
    /// On rank 0: makes `follow` return on all others.
    ~MpiTransport() override;

    TrialResult run(const Trial& trial) override;
    std::optional<Delays> run_stamped(const Trial& trial) override;
    /// Body of all ranks except 0: returns when rank 0 destroys its transport.
    void follow();
    /// Clock behind one-way delays: none, counter or mpi_wtime.
    [[nodiscard]] std::string_view clock() const;

  private:
    enum class Shared : std::uint8_t { kNone, kCounter, kWtime };

    [[nodiscard]] bool measures() const { return rank_ < pairs_; }
    [[nodiscard]] Shared find_clock() const;
    TrialResult take_part(const Trial& trial);
    Stamps take_part_stamped(const Trial& trial);
    template <typename C>
    Stamps stamp(const Trial& trial, C& clock);
    void check(const Trial& trial) const;
    [[nodiscard]] TrialResult collect(double seconds, const Histogram& rounds) const;
    [[nodiscard]] Delays delays_of(const Stamps& stamps) const;

    int rank_ = 0;
    int pairs_ = 0;
    int partner_ = 0;
    /// Ranks that measure. Results are collected among them only, since other traffic on the
    /// measured connections would change how TCP acknowledges after a bulk transfer.
    MPI_Comm measuring_ = MPI_COMM_NULL;
    Timeline timeline_;
    Buffers buffers_;
    Shared clock_ = Shared::kNone;
};

}  // namespace aferir::network
