#include "lbm/solver.hpp"

#include <algorithm>

#include "lbm/decomposition.hpp"

namespace aferir::lbm {
namespace {

std::vector<std::size_t> cells_of_rows(const Cells& cells, std::span<const std::size_t> rows) {
    std::vector<std::size_t> counts;
    for (const auto row : rows) {
        counts.push_back(cells.row_cells[row + 1] - cells.row_cells[row]);
    }
    return counts;
}

std::vector<std::size_t> all_rows(const Cells& cells) {
    std::vector<std::size_t> rows(cells.at_border.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
        rows[row] = row;
    }
    return rows;
}

/// The threads' slabs of planes, with about as many cells each.
Slabs slabs_of(const Cells& cells, int threads) {
    std::vector<std::size_t> counts;
    for (std::size_t plane = 0; plane < cells.planes(); ++plane) {
        const auto first = plane * cells.rows_of_plane();
        counts.push_back(cells.row_cells[first + cells.rows_of_plane()] - cells.row_cells[first]);
    }
    Slabs slabs{static_cast<int>(cells.rows_of_plane()), {}};
    for (const auto bound : split_evenly(counts, threads)) {
        slabs.bounds.push_back(static_cast<int>(bound));
    }
    return slabs;
}

}  // namespace

Exchange::~Exchange() = default;
World::~World() = default;

Solver::Solver(const Geometry& geometry, const Physics& physics, const Execution& execution,
               const World& world)
    : world_(world),
      cells_(std::make_unique<Cells>(
          list_cells(geometry, share_rows(geometry, world.count()), world.id()))),
      f_((require_memory(cells_->places * sizeof(double)), cells_->places)),
      exchange_(world.count() > 1 ? world.exchange(*cells_) : nullptr),
      advance_(execution.advance) {
    work_.cells = cells_.get();
    work_.f = f_.data();
    work_.rates = relaxation(physics.viscosity);
    work_.drive = physics.drive;
    work_.threads = execution.threads;
    work_.exchange = exchange_.get();
    share_rows_among_threads();
    block(execution);
    touch();
}

void Solver::share_rows_among_threads() {
    const auto rows = all_rows(*cells_);
    work_.shares.all = split_evenly(cells_of_rows(*cells_, rows), work_.threads);
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(work_.border),
                 [&](std::size_t row) { return cells_->at_border[row] != 0; });
    work_.shares.border = split_evenly(cells_of_rows(*cells_, work_.border), work_.threads);
}

void Solver::block(const Execution& execution) {
    const auto slabs = slabs_of(*cells_, work_.threads);
    const auto rows = std::max<std::size_t>(cells_->at_border.size(), 1);
    const double row_bytes = static_cast<double>(cells_->count * kDirections * sizeof(double)) /
                             static_cast<double>(rows);
    auto chosen = choose_blocking(slabs.rows, row_bytes, execution.cache_bytes);
    if (execution.block_steps > 0) {
        chosen = {execution.block_steps, slabs.rows};
    }
    if (execution.tile > 0) {
        chosen.tile = execution.tile;
    }
    // With several ranks, ghosts are one step deep, so a block has two steps at most.
    const int wanted = exchange_ == nullptr ? chosen.steps : std::min(chosen.steps, 2);
    const int steps = possible_steps(slabs, wanted);
    tile_ = chosen.tile;
    work_.schedule = steps > 1 ? make_schedule(slabs, steps, chosen.tile) : Schedule{};
}

/// Places each thread's pages in its own memory node.
void Solver::touch() {
#pragma omp parallel for num_threads(work_.threads) schedule(static, 1)
    for (int thread = 0; thread < work_.threads; ++thread) {
        const auto share = static_cast<std::size_t>(thread);
        const auto begin = cells_->row_cells[work_.shares.all[share]];
        const auto end = cells_->row_cells[work_.shares.all[share + 1]];
        for (std::size_t q = 0; q < kDirections; ++q) {
            std::fill(f_.data() + q * cells_->stride + begin, f_.data() + q * cells_->stride + end,
                      0.0);
        }
    }
}

void Solver::rest() {
    touch();
    std::fill(f_.data() + kDirections * cells_->stride, f_.data() + cells_->places, 0.0);
}

void Solver::advance(int steps) { advance_(work_, steps); }

Totals Solver::totals() const {
    Totals totals;
    const double* const f = f_.data();
    const auto stride = cells_->stride;
    double mass = 0;
    double momentum = 0;
    for (std::size_t q = 0; q < kDirections; ++q) {
        double populations = 0;
#pragma omp parallel for simd num_threads(work_.threads) reduction(+ : populations)
        for (std::size_t i = 0; i < cells_->count; ++i) {
            populations += f[q * stride + i];
        }
        mass += populations;
        momentum += kVelocities[q].x * populations;
    }
    totals.mass = world_.sum(mass);
    totals.momentum =
        world_.sum(momentum + work_.drive.force / 2 * static_cast<double>(cells_->count));
    return totals;
}

}  // namespace aferir::lbm
