// FT by message passing: each rank has a range of the z pencils of the spectrum and a range of the
// planes of the work field. The transposition between them goes plane by plane. A rank's pencils of
// one plane lie together and go to where the plane's transforms read them: within a host they are
// written there directly, between hosts they are one message.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npb/ft_field.hpp"
#include "npb/ft_passes.hpp"
#include "npb/ft_reference.hpp"
#include "npb/npb.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_mpi_ft(ProblemClass problem, Ranks& ranks);

namespace {

class Solver {
  public:
    Solver(const Grid& grid, Ranks& ranks)
        : grid_(grid),
          ranks_(ranks),
          pencils_(static_cast<std::size_t>(grid.blocks() * grid.ny / ranks.count())),
          planes_(grid.nz / ranks.count()),
          pitch_((pencils_ + 1) * kTile),
          passes_(
              passes_of(grid, streams(grid.points() / static_cast<std::size_t>(ranks.count())))),
          spectrum_(pencils_ * static_cast<std::size_t>(grid.nz) * kTile),
          work_(ranks, grid.plane() * static_cast<std::size_t>(planes_)),
          planes_of_(static_cast<std::size_t>(ranks.count())) {
        const auto& mates = ranks.hosts().mates();
        for (std::size_t i = 0; i < mates.size(); ++i) {
            planes_of_[static_cast<std::size_t>(mates[i])] = work_.of(i);
        }
        for (int next = 1; next < ranks.count(); ++next) {
            const int rank = (ranks.id() + next) % ranks.count();
            if (planes_of_[static_cast<std::size_t>(rank)] == nullptr) {
                distant_.push_back(rank);
            }
        }
        if (!distant_.empty()) {
            across_ = HugeArray<double>(pitch_ * static_cast<std::size_t>(grid.nz));
        }
        for (int z = 0; z < grid.nz; ++z) {
            auto* const planes = planes_of_[static_cast<std::size_t>(z / planes_)];
            rows_.push_back(planes == nullptr
                                ? across_.data() + static_cast<std::size_t>(z) * pitch_
                                : part_of_plane(planes, z % planes_, ranks.id()).data());
        }
    }

    // Computes everything before the first time step; as in NPB, it is repeated and then timed,
    // with its tables.
    void initialise() {
        axes_ = Axes(grid_);
        ranks_.wait_for_mates();  // they may still read these planes
        forward_planes();
        forward_pencils();
        sent_.wait();
    }

    // Computes the state after `steps` time steps, transforms it back and returns its checksum.
    ComplexNumber step(int steps) {
        const Decays decays(grid_, steps);
        ranks_.wait_for_mates();  // they may still use the planes that this rank writes into
        evolve_pencils(decays);
        inverse_planes();
        std::array<double, 2> sums{};
        for (int j = 1; j <= kChecksumPoints; ++j) {
            const int z = checksum_plane(grid_, j);
            if (z / planes_ == ranks_.id()) {
                const double* const value = checksum_point(grid_, j, plane(z % planes_));
                sums[0] += value[0];
                sums[1] += value[kLanes];
            }
        }
        ranks_.sum(sums);
        sent_.wait();
        const auto points = static_cast<double>(grid_.points());
        return {sums[0] / points, sums[1] / points};
    }

  private:
    /// One of this rank's planes, counted from its first.
    [[nodiscard]] double* plane(int index) const {
        return planes_of_[static_cast<std::size_t>(ranks_.id())] +
               static_cast<std::size_t>(index) * grid_.plane();
    }

    /// The pencils of `rank` in plane `index` of `planes`.
    [[nodiscard]] std::span<double> part_of_plane(double* planes, int index, int rank) const {
        const auto part = pencils_ * kTile;
        return {planes + static_cast<std::size_t>(index) * grid_.plane() +
                    static_cast<std::size_t>(rank) * part,
                part};
    }
    [[nodiscard]] std::span<double> part_of_plane(int index, int rank) const {
        return part_of_plane(plane(0), index, rank);
    }

    /// This rank's pencils in any plane.
    [[nodiscard]] std::span<double> row(int z) const {
        return {rows_[static_cast<std::size_t>(z)], pencils_ * kTile};
    }

    /// Tiles of one of this rank's pencils in the work field.
    [[nodiscard]] Column tiles_of(std::size_t pencil) const {
        return {rows_.data(), pencil * kTile};
    }

    [[nodiscard]] double* spectrum_of(std::size_t pencil) const {
        return spectrum_.data() + pencil * static_cast<std::size_t>(grid_.nz) * kTile;
    }

    void forward_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
        for (int index = 0; index < planes_; ++index) {
            for (const int rank : distant_) {
                received_[0].receive(rank, row(rank * planes_ + index));
            }
        }
        for (int index = 0; index < planes_; ++index) {
            const auto seed = plane_seed(grid_, ranks_.id() * planes_ + index);
            passes_.generate_x(grid_, axes_.x, seed, plane(index), scratch.data());
            passes_.forward_y(grid_, axes_.y, plane(index), scratch.data());
            for (const int rank : distant_) {
                sent_.send(rank, std::span<const double>(part_of_plane(index, rank)));
            }
        }
        received_[0].wait();
        ranks_.wait_for_mates();
    }

    void forward_pencils() {
        for (std::size_t pencil = 0; pencil < pencils_; ++pencil) {
            passes_.forward_z(axes_.z, spectrum_of(pencil), tiles_of(pencil));
        }
    }

    void evolve_pencils(const Decays& decays) {
        const auto first = static_cast<std::size_t>(ranks_.id()) * pencils_;
        for (std::size_t pencil = 0; pencil < pencils_; ++pencil) {
            passes_.evolve_z(axes_.z, decays, decays.along_xy(first + pencil), spectrum_of(pencil),
                             tiles_of(pencil));
        }
        finish_streams();
        for (int index = 0; index < planes_; ++index) {
            for (const int rank : distant_) {
                sent_.send(rank, std::span<const double>(row(rank * planes_ + index)));
            }
        }
        ranks_.wait_for_mates();
    }

    /// A plane is received while the one before it is transformed.
    void inverse_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
        receive_plane(0);
        for (int index = 0; index < planes_; ++index) {
            received_[static_cast<std::size_t>(index % 2)].wait();
            if (index + 1 < planes_) {
                receive_plane(index + 1);
            }
            passes_.inverse_y(grid_, axes_.y, plane(index));
            passes_.inverse_x(grid_, axes_.x, plane(index), scratch.data());
        }
    }

    void receive_plane(int index) {
        for (const int rank : distant_) {
            received_[static_cast<std::size_t>(index % 2)].receive(rank,
                                                                   part_of_plane(index, rank));
        }
    }

    Grid grid_;
    Ranks& ranks_;
    std::size_t pencils_;  ///< of this rank
    int planes_;           ///< of this rank
    std::size_t pitch_;    ///< doubles from one row of across_ to the next
    Passes passes_;
    Axes axes_{grid_};
    HugeArray<double> spectrum_;
    SharedArray<double> work_;
    std::vector<double*> planes_of_;  ///< by rank; null on other hosts
    std::vector<int> distant_;        ///< ranks of other hosts, beginning with the one after this
    HugeArray<double> across_{1};     ///< this rank's pencils in the planes of other hosts
    std::vector<double*> rows_;       ///< by plane, where this rank's pencils in it begin
    Messages sent_;
    std::array<Messages, 2> received_;
};

}  // namespace

Outcome run_mpi_ft(ProblemClass problem, Ranks& ranks) {
    const auto& grid = kFtGrids[static_cast<std::size_t>(problem)];
    const int iterations = ft_iterations(problem);
    require_power_of_two("FT", ranks.count(), grid.nz);
    // Spectrum and work field; with other hosts, rows on their way to and from them.
    const auto own = field_bytes(grid) / static_cast<std::size_t>(ranks.count());
    ranks.require_memory(ranks.hosts().members.size() == 1 ? own : own * 3 / 2, 0);
    Solver solver(grid, ranks);
    solver.initialise();

    std::vector<ComplexNumber> checksums;
    ranks.wait();
    const double start = Ranks::seconds();
    solver.initialise();
    for (int steps = 1; steps <= iterations; ++steps) {
        checksums.push_back(solver.step(steps));
    }
    Outcome outcome;
    outcome.seconds = Ranks::seconds() - start;

    outcome.iterations = iterations;
    outcome.operations = ft_operations(grid, iterations);
    verify_ft(problem, checksums, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
