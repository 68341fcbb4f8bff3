#pragma once

#include <array>
#include <cstddef>

#include "common/simd.hpp"
#include "lbm/cells.hpp"
#include "lbm/collide.hpp"
#include "lbm/run.hpp"

namespace aferir::lbm::AFERIR_ISA {

/// One thread's part of each step, row by row.
class Sweep {
  public:
    explicit Sweep(const Work& work)
        : cells_(*work.cells),
          f_(work.f),
          stride_(work.cells->stride),
          vector_(constants<Vector>(work.rates, work.drive.force, broadcast)),
          scalar_(constants<double>(work.rates, work.drive.force, [](double x) { return x; })),
          difference_(work.drive.difference) {}

    /// Advances these rows by step `number`. An even step reads and writes a cell's own places, an
    /// odd one those of its neighbours.
    void step(int number, std::size_t first_row, std::size_t end_row) const {
        if (number % 2 == 0) {
            even(cells_.row_cells[first_row], cells_.row_cells[end_row]);
        } else {
            odd(cells_.row_runs[first_row], cells_.row_runs[end_row]);
        }
        const auto parity = static_cast<std::size_t>(number % 2);
        if (!cells_.jumps[parity].empty()) {
            jump(parity, cells_.row_jumps[first_row][parity], cells_.row_jumps[end_row][parity]);
        }
    }

  private:
    void even(std::size_t begin, std::size_t end) const {
        std::size_t cell = begin;
        // First cell from which on all 19 streams are aligned to vectors.
        const auto aligned = (begin + kLanes - 1) / kLanes * kLanes;
        const auto places = [&](std::size_t at) __attribute__((always_inline)) {
            return [this, at](int q) __attribute__((always_inline)) {
                return f_ + static_cast<std::size_t>(q) * stride_ + at;
            };
        };
        if (cell < aligned && aligned <= end) {
            part(places(cell), aligned - cell);
            cell = aligned;
        }
        for (; cell + kLanes <= end; cell += kLanes) {
            whole(places(cell));
        }
        if (cell < end) {
            part(places(cell), end - cell);
        }
    }

    void odd(std::size_t begin, std::size_t end) const {
        for (std::size_t r = begin; r < end; ++r) {
            const Run& run = cells_.runs[r];
            std::size_t i = 0;
            // Like an even step, an odd one writes a population to the place that its opposite was
            // read from: the two differ only in where these places are.
            const auto places = [&](int q) __attribute__((always_inline)) {
                return f_ + i + (q == 0 ? run.first : run.at[static_cast<std::size_t>(q) - 1]);
            };
            for (; i + kLanes <= run.length; i += kLanes) {
                whole(places);
            }
            if (i < run.length) {
                part(places, run.length - i);
            }
        }
    }

    /// Updates as many cells as there are lanes.
    template <typename Places>
    [[gnu::always_inline]] void whole(Places places) const {
        std::array<Vector, kDirections> f;
        unroll<kDirections>([&](auto q) __attribute__((always_inline)) { f[q] = load(places(q)); });
        collide(f, vector_);
        unroll<kDirections>(
            [&](auto q) __attribute__((always_inline)) { store(places(opposite(q)), f[q]); });
    }

    /// Updates fewer cells than there are lanes.
    template <typename Places>
    [[gnu::always_inline]] void part(Places places, std::size_t count) const {
#if defined(__AVX512F__)
        const auto mask = static_cast<__mmask8>((1U << count) - 1U);
        std::array<Vector, kDirections> f;
        unroll<kDirections>([&](auto q) __attribute__((always_inline)) {
            f[q] = _mm512_maskz_loadu_pd(mask, places(q));
        });
        collide(f, vector_);
        unroll<kDirections>([&](auto q) __attribute__((always_inline)) {
            _mm512_mask_storeu_pd(places(opposite(q)), mask, f[q]);
        });
#else
        for (std::size_t i = 0; i < count; ++i) {
            std::array<double, kDirections> f;
            unroll<kDirections>([&](auto q)
                                    __attribute__((always_inline)) { f[q] = places(q)[i]; });
            collide(f, scalar_);
            unroll<kDirections>(
                [&](auto q) __attribute__((always_inline)) { places(opposite(q))[i] = f[q]; });
        }
#endif
    }

    /// Populations that leave at one end enter at the other with the density there (J. Zhang and D.
    /// Y. Kwok, Phys. Rev. E 73, 047702, 2006).
    void jump(std::size_t parity, std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            const auto& at = cells_.jumps[parity][i];
            f_[at.place] += at.weight * difference_;
        }
    }

    const Cells& cells_;
    double* f_;
    std::size_t stride_;
    Constants<Vector> vector_;
    Constants<double> scalar_;
    double difference_;
};

}  // namespace aferir::lbm::AFERIR_ISA
