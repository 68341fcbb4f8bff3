// FT, the spectral kernel: a diffusion equation solved by forward and inverse 3-D FFTs
// (RNR-94-007, section 2.6).

#include <omp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "common/memory.hpp"
#include "npb/ft_field.hpp"
#include "npb/ft_passes.hpp"
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
          passes_(passes_of(grid, streams(grid.points()))),
          spectrum_(2 * grid.points()),
          work_(grid.plane() * static_cast<std::size_t>(grid.nz)) {
        for (int z = 0; z < grid.nz; ++z) {
            planes_.push_back(plane(z));
        }
    }

    // Computes everything before the first time step, including tables. As in NPB, it is run once
    // untimed and again with the clock running.
    void initialise() {
        axes_ = Axes(grid_);
#pragma omp parallel num_threads(threads_)
        {
            forward_planes();
            forward_pencils();
        }
    }

    // Computes the state after `steps` time steps, transforms it back and returns its checksum.
    ComplexNumber step(int steps) {
        const Decays decays(grid_, steps);
        double re = 0;
        double im = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : re, im)
        {
            evolve_pencils(decays);
            inverse_planes();
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

    [[nodiscard]] double* spectrum_of(std::size_t pencil) const {
        return spectrum_.data() + pencil * static_cast<std::size_t>(grid_.nz) * kTile;
    }

    [[nodiscard]] std::int64_t pencils() const {
        return static_cast<std::int64_t>(grid_.blocks()) * grid_.ny;
    }

    void forward_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
#pragma omp for schedule(static)
        for (int z = 0; z < grid_.nz; ++z) {
            passes_.generate_x(grid_, axes_.x, plane_seed(grid_, z), plane(z), scratch.data());
            passes_.forward_y(grid_, axes_.y, plane(z), scratch.data());
        }
    }

    void forward_pencils() {
#pragma omp for schedule(static)
        for (std::int64_t index = 0; index < pencils(); ++index) {
            const auto pencil = static_cast<std::size_t>(index);
            passes_.forward_z(axes_.z, spectrum_of(pencil), {planes_.data(), pencil * kTile});
        }
    }

    void evolve_pencils(const Decays& decays) {
#pragma omp for schedule(static) nowait
        for (std::int64_t index = 0; index < pencils(); ++index) {
            const auto pencil = static_cast<std::size_t>(index);
            passes_.evolve_z(axes_.z, decays, decays.along_xy(pencil), spectrum_of(pencil),
                             {planes_.data(), pencil * kTile});
        }
        finish_streams();
#pragma omp barrier
    }

    void inverse_planes() {
        alignas(64) std::array<double, kLongestFft * kTile> scratch;
#pragma omp for schedule(static)
        for (int z = 0; z < grid_.nz; ++z) {
            passes_.inverse_y(grid_, axes_.y, plane(z));
            passes_.inverse_x(grid_, axes_.x, plane(z), scratch.data());
        }
    }

    Grid grid_;
    int threads_;
    Passes passes_;
    Axes axes_{grid_};
    HugeArray<double> spectrum_;
    HugeArray<double> work_;
    std::vector<double*> planes_;  ///< by z
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
