// FT, the spectral kernel: a diffusion equation solved by forward and inverse 3-D FFTs
// (RNR-94-007, section 2.6).

#include <omp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "npb/ft_field.hpp"
#include "npb/ft_reference.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_ft(ProblemClass problem, int threads);

namespace {

class Solver {
  public:
    Solver(const Grid& grid, int threads)
        : grid_(grid),
          threads_(threads),
          spectrum_(2 * grid.points()),
          work_(grid.plane() * static_cast<std::size_t>(grid.nz)) {}

    // Computes everything before the first time step, including tables. As in NPB, it is run once
    // untimed and again with the clock running.
    void initialise() {
        axes_ = Axes(grid_);
#pragma omp parallel num_threads(threads_)
        {
            with_lengths(grid_, [&](auto nx, auto ny, auto nz) {
                forward_planes<nx, ny>();
                forward_pencils<nz>();
            });
        }
    }

    // Computes the state after `steps` time steps, transforms it back and returns its checksum.
    ComplexNumber step(int steps) {
        const Decays decays(grid_, steps);
        double re = 0;
        double im = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : re, im)
        {
            with_lengths(grid_, [&](auto nx, auto ny, auto nz) {
                constexpr Grid kGrid{nx, ny, nz};
                evolve_pencils<nz, streams(kGrid.points())>(decays);
                inverse_planes<nx, ny>();
            });
#pragma omp for schedule(static)
            for (int j = 1; j <= kChecksumPoints; ++j) {
                const double* const value =
                    checksum_point(grid_, j, plane(checksum_plane(grid_, j)));
                re += value[0];
                im += value[kLanes];
            }
        }
        const auto points = static_cast<double>(grid_.points());
        return {re / points, im / points};
    }

  private:
    [[nodiscard]] double* plane(int z) const {
        return work_.data() + static_cast<std::size_t>(z) * grid_.plane();
    }

    /// Tiles of a z pencil in the work field.
    [[nodiscard]] auto tiles_of(std::size_t pencil) const {
        return [first = work_.data() + pencil * kTile, plane = grid_.plane()](int z) {
            return first + static_cast<std::size_t>(z) * plane;
        };
    }

    [[nodiscard]] std::int64_t pencils() const {
        return static_cast<std::int64_t>(grid_.blocks()) * grid_.ny;
    }

    template <int Nx, int Ny>
    void forward_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
#pragma omp for schedule(static)
        for (int z = 0; z < grid_.nz; ++z) {
            const auto numbers = 2 * std::uint64_t{Nx} * Ny * static_cast<std::uint64_t>(z);
            generate_x<Nx>(grid_, axes_.x, lcg_skip(kFtSeed, numbers), plane(z), scratch.data());
            forward_y<Ny>(grid_, axes_.y, plane(z), scratch.data());
        }
    }

    template <int Nz>
    void forward_pencils() {
#pragma omp for schedule(static)
        for (std::int64_t index = 0; index < pencils(); ++index) {
            const auto pencil = static_cast<std::size_t>(index);
            forward_z<Nz>(axes_.z, spectrum_.data() + pencil * Nz * kTile, tiles_of(pencil));
        }
    }

    template <int Nz, bool streaming>
    void evolve_pencils(const Decays& decays) {
#pragma omp for schedule(static) nowait
        for (std::int64_t index = 0; index < pencils(); ++index) {
            const auto pencil = static_cast<std::size_t>(index);
            evolve_z<Nz, streaming>(axes_.z, decays, decays.along_xy(pencil),
                                    spectrum_.data() + pencil * Nz * kTile, tiles_of(pencil));
        }
        finish_streams();
#pragma omp barrier
    }

    template <int Nx, int Ny>
    void inverse_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
#pragma omp for schedule(static)
        for (int z = 0; z < grid_.nz; ++z) {
            inverse_y<Ny>(grid_, axes_.y, plane(z));
            inverse_x<Nx>(grid_, axes_.x, plane(z), scratch.data());
        }
    }

    Grid grid_;
    int threads_;
    Axes axes_{grid_};
    HugeArray<double> spectrum_;
    HugeArray<double> work_;
};

}  // namespace

Outcome run_ft(ProblemClass problem, int threads) {
    const auto& grid = kFtGrids[static_cast<std::size_t>(problem)];
    const int iterations = ft_iterations(problem);
    require_memory(field_bytes(grid));
    Solver solver(grid, threads);
    solver.initialise();

    std::vector<ComplexNumber> checksums;
    const double start = omp_get_wtime();
    solver.initialise();
    for (int steps = 1; steps <= iterations; ++steps) {
        checksums.push_back(solver.step(steps));
    }
    Outcome outcome;
    outcome.seconds = omp_get_wtime() - start;

    outcome.iterations = iterations;
    outcome.operations = ft_operations(grid, iterations);
    verify_ft(problem, checksums, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
