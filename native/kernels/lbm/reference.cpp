#include "lbm/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lbm/random.hpp"

namespace aferir::lbm {
namespace {

struct Moments {
    double density = 0;  // less 1
    double x = 0;
    double y = 0;
    double z = 0;
};

double equilibrium(int q, const Moments& at) {
    const auto c = kVelocities[static_cast<std::size_t>(q)];
    const double along = c.x * at.x + c.y * at.y + c.z * at.z;
    const double square = at.x * at.x + at.y * at.y + at.z * at.z;
    return weight(q) * (at.density + 3 * along + 4.5 * along * along - 1.5 * square);
}

}  // namespace

Reference::Reference(const Geometry& geometry, const Physics& physics, std::vector<double> f)
    : geometry_(geometry),
      rates_(relaxation(physics.viscosity)),
      drive_(physics.drive),
      f_(std::move(f)),
      next_(f_.size()) {}

void Reference::collide(std::size_t cell) {
    double* const f = f_.data() + cell * kDirections;
    Moments at;
    for (int q = 0; q < kDirections; ++q) {
        const auto c = kVelocities[static_cast<std::size_t>(q)];
        at.density += f[q];
        at.x += c.x * f[q];
        at.y += c.y * f[q];
        at.z += c.z * f[q];
    }
    at.x += drive_.force / 2;
    std::array<double, kDirections> after{};
    for (int q = 0; q < kDirections; ++q) {
        const int back = opposite(q);
        const double excess = f[q] - equilibrium(q, at);
        const double excess_back = f[back] - equilibrium(back, at);
        const double force =
            3 * weight(q) * kVelocities[static_cast<std::size_t>(q)].x * drive_.force;
        after[static_cast<std::size_t>(q)] = f[q] - rates_.even * (excess + excess_back) / 2 -
                                             rates_.odd * (excess - excess_back) / 2 +
                                             (1 - rates_.odd / 2) * force;
    }
    std::copy(after.begin(), after.end(), f);
}

void Reference::stream(std::size_t cell, int x, int y, int z) {
    const auto size = geometry_.size;
    for (int q = 0; q < kDirections; ++q) {
        const auto c = kVelocities[static_cast<std::size_t>(q)];
        const int to_x = x + c.x;
        const int to_y = y + c.y;
        const int to_z = z + c.z;
        const double value = f_[cell * kDirections + static_cast<std::size_t>(q)];
        double* const back = &next_[cell * kDirections + static_cast<std::size_t>(opposite(q))];
        const bool through_wall = (geometry_.walls_y && (to_y < 0 || to_y >= size.y)) ||
                                  (geometry_.walls_z && (to_z < 0 || to_z >= size.z));
        const auto to = geometry_.index((to_x + size.x) % size.x, (to_y + size.y) % size.y,
                                        (to_z + size.z) % size.z);
        if (through_wall || geometry_.solid[to] != 0) {
            *back = value;
        } else {
            const int jump = geometry_.ends == Ends::kPressure ? (to_x >= size.x) - (to_x < 0) : 0;
            next_[to * kDirections + static_cast<std::size_t>(q)] =
                value + jump * weight(q) * drive_.difference;
        }
    }
}

void Reference::advance(int steps) {
    for (int step = 0; step < steps; ++step) {
        for (std::size_t cell = 0; cell < geometry_.solid.size(); ++cell) {
            collide(cell);
        }
        for (int z = 0; z < geometry_.size.z; ++z) {
            for (int y = 0; y < geometry_.size.y; ++y) {
                for (int x = 0; x < geometry_.size.x; ++x) {
                    const auto cell = geometry_.index(x, y, z);
                    if (geometry_.solid[cell] == 0) {
                        stream(cell, x, y, z);
                    }
                }
            }
        }
        std::swap(f_, next_);
    }
}

namespace {

constexpr double kScale = 1e-3;

Geometry random_walls(Size size, double share, Random& random) {
    Geometry geometry;
    geometry.size = size;
    for (std::size_t cell = 0; cell < size.cells(); ++cell) {
        geometry.solid.push_back(random.uniform() < share ? 1 : 0);
    }
    return geometry;
}

/// Calls use(local cell, global cell) for the cells of a solver.
template <typename Use>
void for_cells(const Geometry& geometry, const Cells& cells, Use use) {
    for (int z = cells.z0; z < cells.z1; ++z) {
        for (int y = cells.y0; y < cells.y1; ++y) {
            const auto row = cells.row(y - cells.y0, z - cells.z0);
            std::size_t cell = cells.row_cells[row];
            if (cell == cells.row_cells[row + 1]) {
                continue;
            }
            for (int x = 0; x < geometry.size.x; ++x) {
                const auto number = geometry.index(x, y, z);
                if (geometry.solid[number] == 0) {
                    use(cell++, number);
                }
            }
        }
    }
}

double difference(const Geometry& geometry, const Physics& physics, const Execution& execution,
                  const World& world, Random& random) {
    constexpr int kSteps = 10;
    std::vector<double> start(geometry.solid.size() * kDirections);
    std::generate(start.begin(), start.end(), [&] { return kScale * (random.uniform() - 0.5); });
    Solver solver(geometry, physics, execution, world);
    const auto f = solver.populations();
    const auto stride = solver.cells().stride;
    for_cells(geometry, solver.cells(), [&](std::size_t cell, std::size_t number) {
        for (std::size_t q = 0; q < kDirections; ++q) {
            f[q * stride + cell] = start[number * kDirections + q];
        }
    });
    Reference reference(geometry, physics, start);
    reference.advance(kSteps);
    solver.advance(kSteps);
    double largest = 0;
    for_cells(geometry, solver.cells(), [&](std::size_t cell, std::size_t number) {
        for (std::size_t q = 0; q < kDirections; ++q) {
            const double error =
                std::abs(f[q * stride + cell] - reference.populations()[number * kDirections + q]);
            largest = std::isfinite(error) ? std::max(largest, error) : HUGE_VAL;
        }
    });
    return world.largest(largest) / kScale;
}

}  // namespace

double check_kernels(const Execution& chosen, const World& world) {
    auto execution = chosen;
    execution.tile = 1;  // as low as can be, so that these small boxes have several
    Random random(7);
    const Physics pushed{0.1, {1e-4, 0}};
    auto geometry = random_walls({29, 17, 4 * execution.threads + 9}, 0.2, random);
    const double largest = difference(geometry, pushed, execution, world, random);
    geometry = random_walls({21, 14, 4 * execution.threads + 6}, 0.05, random);
    geometry.walls_y = true;
    geometry.walls_z = true;
    geometry.ends = Ends::kPressure;
    const Physics pulled{0.7, {0, 1e-4}};
    return std::max(largest, difference(geometry, pulled, execution, world, random));
}

}  // namespace aferir::lbm
