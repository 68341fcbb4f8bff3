#pragma once

// A time step of BT or SP by message passing: each process has some planes of constant k for the
// right-hand side and the solves along x and y, and as many planes of constant j for the solves
// along z. Between the two the change is transposed, afterwards the state is, with the rim of the
// planes that the next right-hand side looks at. docs/decisions/adi-by-transposition.md says why.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "common/memory.hpp"
#include "npb/adi_field.hpp"
#include "npb/adi_planes.hpp"
#include "npb/adi_problem.hpp"
#include "npb/pseudo_application.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// The inner planes of a rank, whether of constant k or of constant j.
inline GridRange planes_of(int size, int rank, int ranks) {
    const auto [begin, end] = share_of(static_cast<std::size_t>(size - 2), rank, ranks);
    return {1 + static_cast<int>(begin), 1 + static_cast<int>(end)};
}

/// The fields of one rank. What it has of both kinds of planes, it has once: so one process alone
/// copies nothing.
class AdiParts {
  public:
    AdiParts(int size, const Ranks& ranks)
        : size_(size),
          rank_(ranks.id()),
          own_(planes_of(size, rank_, ranks.count())),
          kept_{own_.begin == 1 ? 0 : own_.begin, own_.end == size - 1 ? size : own_.end},
          whole_(size, widened(own_, kRim, 0), {0, size}),
          forcing_(size, own_, {0, size}),
          far_(size, {0, size}, own_),
          change_(size, {1, size - 1}, own_) {
        for (int rank = 0; rank < ranks.count(); ++rank) {
            const auto rows = planes_of(size, rank, ranks.count());
            // The change of our own rows stays here.
            outgoing_.emplace_back(size, rank == rank_ ? GridRange{0, 0} : own_, rows);
        }
    }

    [[nodiscard]] GridRange own() const { return own_; }
    [[nodiscard]] GridRange of(int rank) const { return outgoing_[index(rank)].rows(); }
    /// The inner planes that a rank's right-hand side looks at.
    [[nodiscard]] GridRange seen_by(int rank) const { return widened(of(rank), kRim, 1); }

    /// Whole planes of constant k, two more on each side.
    [[nodiscard]] const Field& whole() const { return whole_; }
    [[nodiscard]] const Field& forcing() const { return forcing_; }
    /// Our rows of all planes; of the change as it arrives.
    [[nodiscard]] const Field& change() const { return change_; }
    /// The rows of another rank in our planes, of the change as it leaves.
    [[nodiscard]] const Field& outgoing(int rank) const { return outgoing_[index(rank)]; }

    /// Where the state of our rows of plane k is, as the solves along z leave it.
    [[nodiscard]] const Field& state_of_rows(int k) const { return kept_.has(k) ? whole_ : far_; }

    void set_forcing(const ExactField& exact) const {
        for (int k = own_.begin; k < own_.end; ++k) {
            npb::AFERIR_ISA::set_forcing(forcing_, exact, k);
        }
    }

    void set_state(const ExactField& exact) const {
        for (int k = 0; k < size_; ++k) {
            if (whole_.planes().has(k)) {
                npb::AFERIR_ISA::set_state(whole_, exact, k);
            }
            if (&state_of_rows(k) == &far_) {
                npb::AFERIR_ISA::set_state(far_, exact, k);
            }
        }
    }

    static std::size_t bytes(int size, int ranks) {
        const int share = (size - 2 + ranks - 1) / ranks;
        const std::size_t own = Field::bytes(size, share, size);
        return 2 * own + (ranks > 1 ? 3 : 1) * own + Field::bytes(size, 2 * kRim, size);
    }

  private:
    static constexpr int kRim = 2;

    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    /// `boundary` is 0 with the cube's boundary, 1 without.
    [[nodiscard]] GridRange widened(GridRange range, int by, int boundary) const {
        return {std::max(range.begin - by, boundary), std::min(range.end + by, size_ - boundary)};
    }

    int size_;
    int rank_;
    GridRange own_;
    GridRange kept_;  ///< ours, and the boundary beside them
    Field whole_;
    Field forcing_;
    Field far_;  ///< state of our rows in planes that are not ours
    Field change_;
    std::vector<Field> outgoing_;
};

/// The time steps of one rank; `Solver` is BtLines or SpLines.
template <typename Solver>
class AdiShare {
  public:
    AdiShare(const AdiParts& parts, int size, double time_step, const Ranks& ranks)
        : parts_(parts),
          size_(size),
          rank_(ranks.id()),
          ranks_(ranks.count()),
          planes_(parts.whole(), parts.forcing(), size, time_step),
          change_rows_(static_cast<std::size_t>(size)) {
        const int row = parts.own().begin;
        for (int k = 0; k < size; ++k) {
            z_states_.push_back(parts.state_of_rows(k).block(k, row, 0));
            z_changes_.push_back(parts.change().block(std::clamp(k, 1, size - 2), row, 0));
        }
    }

    void run() {
        const auto own = parts_.own();
        receive_changes();
        for (int k = own.begin; k < own.end; ++k) {
            point_at_rows(k);
            planes_.solve_xy(k, change_rows_.data());
            send_changes(k);
        }
        messages_.wait();
        receive_states();
        for (int j = own.begin; j < own.end; ++j) {
            planes_.solve_z(z_states_.data(), z_changes_.data(),
                            static_cast<std::size_t>(j - own.begin) * parts_.whole().row_step());
        }
        send_states();
        messages_.wait();
    }

  private:
    static constexpr int kChangeTag = 1;
    static constexpr int kStateTag = 2;

    template <typename Use>
    void for_others(const Use& use) const {
        for (int step = 1; step < ranks_; ++step) {
            use((rank_ + step) % ranks_);
        }
    }

    /// Where the change of each row of plane k is made.
    void point_at_rows(int k) {
        for (int rank = 0; rank < ranks_; ++rank) {
            const auto& field = rank == rank_ ? parts_.change() : parts_.outgoing(rank);
            for (int j = parts_.of(rank).begin; j < parts_.of(rank).end; ++j) {
                change_rows_[static_cast<std::size_t>(j)] = field.block(k, j, 0);
            }
        }
    }

    void receive_changes() {
        for_others([&](int rank) {
            for (int k = parts_.of(rank).begin; k < parts_.of(rank).end; ++k) {
                messages_.receive(rank, parts_.change().span(k, parts_.own()), kChangeTag);
            }
        });
    }

    void send_changes(int k) {
        for_others([&](int rank) {
            const auto rows = parts_.outgoing(rank).span(k, parts_.of(rank));
            messages_.send(rank, std::span<const double>(rows), kChangeTag);
        });
    }

    void receive_states() {
        const auto seen = parts_.seen_by(rank_);
        for_others([&](int rank) {
            for (int k = seen.begin; k < seen.end; ++k) {
                messages_.receive(rank, parts_.whole().span(k, parts_.of(rank)), kStateTag);
            }
        });
    }

    void send_states() {
        const auto state = [&](int k) { return parts_.state_of_rows(k).span(k, parts_.own()); };
        for_others([&](int rank) {
            const auto seen = parts_.seen_by(rank);
            for (int k = seen.begin; k < seen.end; ++k) {
                messages_.send(rank, std::span<const double>(state(k)), kStateTag);
            }
        });
        const auto seen = parts_.seen_by(rank_);
        for (int k = seen.begin; k < seen.end; ++k) {
            if (!parts_.own().has(k)) {
                const auto from = state(k);
                std::memcpy(parts_.whole().span(k, parts_.own()).data(), from.data(),
                            from.size_bytes());
            }
        }
    }

    const AdiParts& parts_;
    int size_;
    int rank_;
    int ranks_;
    AdiPlanes<Solver> planes_;
    std::vector<double*> change_rows_;  ///< block 0 of each row of a plane
    std::vector<double*> z_states_;     ///< block 0 of our first row in each plane
    std::vector<double*> z_changes_;    ///< likewise
    Messages messages_;
};

/// Runs and verifies BT or SP. Errors: OutOfMemory, UsageError.
template <typename Solver>
Outcome run_adi(std::string_view kernel, const AdiProblem& problem, const Ranks& ranks) {
    require_at_most(kernel, ranks.count(), problem.size - 2);
    require_memory(AdiParts::bytes(problem.size, ranks.count()));
    const ExactField exact(problem.size);
    const AdiParts parts(problem.size, ranks);
    AdiShare<Solver> share(parts, problem.size, problem.time_step, ranks);
    parts.set_forcing(exact);
    parts.set_state(exact);
    share.run();  // untimed, to touch all code and data
    parts.set_state(exact);
    ranks.wait();
    const double start = Ranks::seconds();
    for (int iteration = 0; iteration < problem.iterations; ++iteration) {
        share.run();
    }
    Outcome outcome;
    outcome.seconds = Ranks::seconds() - start;
    outcome.iterations = problem.iterations;
    outcome.operations = problem.operations;
    auto box = inner_box(problem.size);
    box[2] = parts.own();
    const auto field = [&](const Place& place) { return parts.whole().state(place); };
    auto sums = squares_of(field, exact, box, 1);
    ranks.sum(std::span<double>(sums.residual));
    ranks.sum(std::span<double>(sums.error));
    verify_norms(
        {root_mean_square(sums.residual, problem.size), root_mean_square(sums.error, problem.size)},
        problem.reference, outcome);
    return outcome;
}

}  // namespace aferir::npb::AFERIR_ISA
