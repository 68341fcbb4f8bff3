// FT, the spectral kernel: a diffusion equation solved by forward and inverse 3-D FFTs
// (RNR-94-007, section 2.6).

#include <omp.h>

#include <array>
#include <cmath>
#include <vector>

#include "npb/ft_field.hpp"
#include "npb/ft_reference.hpp"
#include "npb/npb.hpp"

namespace aferir::npb::AFERIR_ISA {

Outcome run_ft(ProblemClass problem, int threads);

namespace {

constexpr std::uint64_t kSeed = 314159265;
constexpr std::array<Grid, 5> kGrids{
    {{64, 64, 64}, {128, 128, 32}, {256, 256, 128}, {512, 256, 256}, {512, 512, 512}}};
// Work fields larger than this leave the caches between writing and reading: stream them.
constexpr std::size_t kStreamBytes = std::size_t{32} << 20U;

// Calls body with the length as a constant.
template <typename Body>
void with_length(int length, Body body) {
    switch (length) {
        case 32:
            return body(std::integral_constant<int, 32>{});
        case 64:
            return body(std::integral_constant<int, 64>{});
        case 128:
            return body(std::integral_constant<int, 128>{});
        case 256:
            return body(std::integral_constant<int, 256>{});
        default:
            return body(std::integral_constant<int, 512>{});
    }
}

struct Axes {
    explicit Axes(const Grid& grid) : x(grid.nx), y(grid.ny), z(grid.nz) {}
    Axis x;
    Axis y;
    Axis z;
};

class Solver {
  public:
    Solver(const Grid& grid, int threads)
        : grid_(grid),
          threads_(threads),
          streaming_(16 * grid.points() > kStreamBytes),
          spectrum_(2 * grid.points()),
          work_(grid.plane() * static_cast<std::size_t>(grid.nz)) {}

    // Everything before the first time step; NPB repeats and times it, tables and all.
    void initialise() {
        axes_ = Axes(grid_);
#pragma omp parallel num_threads(threads_)
        {
            with_length(grid_.nx, [&](auto nx) {
                with_length(grid_.ny, [&](auto ny) { forward_planes<nx, ny>(); });
            });
            with_length(grid_.nz, [&](auto nz) { forward_pencils<nz>(); });
        }
    }

    // State after `steps` time steps, transformed back; returns its checksum.
    ComplexNumber step(int steps) {
        const Decays decays(grid_, steps);
        double re = 0;
        double im = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : re, im)
        {
            with_length(grid_.nz, [&](auto nz) {
                streaming_ ? evolve_pencils<nz, true>(decays) : evolve_pencils<nz, false>(decays);
            });
            with_length(grid_.nx, [&](auto nx) {
                with_length(grid_.ny, [&](auto ny) { inverse_planes<nx, ny>(); });
            });
#pragma omp for schedule(static)
            for (int j = 1; j <= 1024; ++j) {
                const double* const value = at(j % grid_.nx, 3 * j % grid_.ny, 5 * j % grid_.nz);
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

    // Real part of a point of the (turned) result; the imaginary part is kLanes further.
    [[nodiscard]] const double* at(int x, int y, int z) const {
        const int tile = x / kLanes * grid_.ny + y / kLanes * kLanes + x % kLanes;
        return plane(z) + static_cast<std::size_t>(tile) * kTile + y % kLanes;
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
            generate_x<Nx>(grid_, axes_.x, lcg_skip(kSeed, numbers), plane(z), scratch.data());
            forward_y<Ny>(grid_, axes_.y, plane(z), scratch.data());
        }
    }

    template <int Nz>
    void forward_pencils() {
#pragma omp for schedule(static)
        for (std::int64_t index = 0; index < pencils(); ++index) {
            forward_z<Nz>(grid_, axes_.z, work_.data(), spectrum_.data(),
                          static_cast<std::size_t>(index));
        }
    }

    template <int Nz, bool streaming>
    void evolve_pencils(const Decays& decays) {
#pragma omp for schedule(static) nowait
        for (std::int64_t index = 0; index < pencils(); ++index) {
            evolve_z<Nz, streaming>(grid_, axes_.z, decays, spectrum_.data(), work_.data(),
                                    static_cast<std::size_t>(index));
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
    bool streaming_;
    Axes axes_{grid_};
    HugeArray<double> spectrum_;
    HugeArray<double> work_;
};

// As NPB counts floating-point operations; the logarithms are natural ones.
double operations(const Grid& grid, int iterations) {
    const auto points = static_cast<double>(grid.points());
    const double logarithm = std::log(points);
    return points * (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * iterations);
}

}  // namespace

Outcome run_ft(ProblemClass problem, int threads) {
    const auto& grid = kGrids[static_cast<std::size_t>(problem)];
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
    outcome.operations = operations(grid, iterations);
    verify_ft(problem, checksums, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
