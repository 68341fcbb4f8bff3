#pragma once

// A time step of BT or SP by message passing: each process has a range of planes of constant k, for
// the right-hand side and the solves along x and y, and the same range of planes of constant j, for
// the solves along z. Between the two, the change is transposed; after the solves along z the new
// state is transposed back, with the adjacent planes that the next right-hand side reads.
// docs/decisions/adi-by-transposition.md says why.
//
// The processes of a host share their planes, so nothing is copied between them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "npb/adi_field.hpp"
#include "npb/adi_planes.hpp"
#include "npb/adi_problem.hpp"
#include "npb/pseudo_application.hpp"
#include "npb_mpi/adi_layout.hpp"
#include "npb_mpi/decomposition.hpp"
#include "npb_mpi/host_memory.hpp"
#include "npb_mpi/ranks.hpp"

namespace aferir::npb::AFERIR_ISA {

/// Fields of one rank. A host stores its planes of both kinds once.
class AdiParts {
  public:
    AdiParts(const AdiLayout& layout, const Ranks& ranks)
        : AdiParts(
              layout, [&](std::size_t values) { return common_array<double>(ranks, values); },
              ranks) {}

    [[nodiscard]] const AdiLayout& layout() const { return layout_; }

    /// Whole planes of constant k: all those that the right-hand sides of this host read.
    [[nodiscard]] const Field& whole() const { return whole_; }
    /// Forcing in this rank's planes.
    [[nodiscard]] const Field& forcing() const { return forcing_; }
    /// This host's rows (its range of j) of all planes, into which the change is received.
    [[nodiscard]] const Field& change() const { return change_; }
    /// Rows of our planes that belong to a distant rank: the change to be sent to it.
    [[nodiscard]] const Field& outgoing(int rank) const {
        return outgoing_[static_cast<std::size_t>(rank)];
    }

    /// The field in which the solves along z write the state of our rows of plane k.
    [[nodiscard]] const Field& state_of_rows(int k) const { return kept_.has(k) ? whole_ : far_; }

    void set_forcing(const ExactField& exact) const {
        for (int k = layout_.own().begin; k < layout_.own().end; ++k) {
            npb::AFERIR_ISA::set_forcing(forcing_, exact, k);
        }
    }

    /// Sets our part of the state. The host's other ranks must be waited for before and after.
    void set_state(const ExactField& exact) const {
        const auto seen = layout_.seen_by(rank_, 0);
        for (int k = 0; k < layout_.size(); ++k) {
            if (seen.has(k)) {
                npb::AFERIR_ISA::set_state(whole_, exact, k);
            }
            if (&state_of_rows(k) == &far_) {
                npb::AFERIR_ISA::set_state(far_, exact, k);
            }
        }
    }

    /// Bytes of the forcing; with other hosts, also of rows that are sent and received.
    static std::size_t own_bytes(const AdiLayout& layout) {
        const int size = layout.size();
        return (layout.distant().empty() ? 1 : 3) * Field::bytes(size, layout.own().size(), size);
    }

    /// Bytes of state and change.
    static std::size_t common_bytes(const AdiLayout& layout) {
        const int size = layout.size();
        return Field::bytes(size, layout.seen_by_host(0).size(), size) +
               Field::bytes(size, size - 2, layout.host().size());
    }

  private:
    template <typename Allocate>
    AdiParts(const AdiLayout& layout, const Allocate& common, const Ranks& ranks)
        : layout_(layout),
          rank_(ranks.id()),
          kept_{layout.host().begin == 1 ? 0 : layout.host().begin,
                layout.host().end == layout.size() - 1 ? layout.size() : layout.host().end},
          whole_(layout.size(), layout.seen_by_host(0), {0, layout.size()}, common),
          forcing_(layout.size(), layout.own(), {0, layout.size()}),
          far_(layout.size(), {0, layout.size()}, layout.own()),
          change_(layout.size(), {1, layout.size() - 1}, layout.host(), common) {
        for (int rank = 0; rank < ranks.count(); ++rank) {
            const auto distant = layout.distant();
            const bool leaves = std::find(distant.begin(), distant.end(), rank) != distant.end();
            outgoing_.emplace_back(layout.size(), leaves ? layout.own() : GridRange{0, 0},
                                   layout.of(rank));
        }
    }

    const AdiLayout& layout_;
    int rank_;
    GridRange kept_;  ///< this host's, and the boundary beside them
    Field whole_;
    Field forcing_;
    Field far_;  ///< state of our rows in planes that are not this host's
    Field change_;
    std::vector<Field> outgoing_;  ///< by rank; nothing if we do not send
};

/// The time steps of one rank; `Solver` is BtLines or SpLines.
template <typename Solver>
class AdiShare {
  public:
    AdiShare(const AdiParts& parts, double time_step, const Ranks& ranks)
        : parts_(parts),
          layout_(parts.layout()),
          ranks_(ranks),
          planes_(parts.whole(), parts.forcing(), layout_.size(), time_step),
          change_rows_(static_cast<std::size_t>(layout_.size())) {
        const int size = layout_.size();
        const int row = layout_.own().begin;
        for (int k = 0; k < size; ++k) {
            z_states_.push_back(parts.state_of_rows(k).block(k, row, 0));
            z_changes_.push_back(parts.change().block(std::clamp(k, 1, size - 2), row, 0));
        }
    }

    void run() {
        const auto own = layout_.own();
        receive_changes();
        for (int k = own.begin; k < own.end; ++k) {
            point_at_rows(k);
            planes_.solve_xy(k, change_rows_.data());
            send_changes(k);
        }
        messages_.wait();
        ranks_.wait_for_mates();
        receive_states();
        for (int j = own.begin; j < own.end; ++j) {
            planes_.solve_z(z_states_.data(), z_changes_.data(),
                            static_cast<std::size_t>(j - own.begin) * parts_.whole().row_step());
        }
        send_states();
        messages_.wait();
        ranks_.wait_for_mates();
    }

  private:
    static constexpr int kChangeTag = 1;
    static constexpr int kStateTag = 2;

    /// Sets the pointers to where the change of each row of plane k is computed.
    void point_at_rows(int k) {
        const auto point = [&](const Field& field, GridRange rows) {
            for (int j = rows.begin; j < rows.end; ++j) {
                change_rows_[static_cast<std::size_t>(j)] = field.block(k, j, 0);
            }
        };
        point(parts_.change(), layout_.host());
        for (const int rank : layout_.distant()) {
            point(parts_.outgoing(rank), layout_.of(rank));
        }
    }

    void receive_changes() {
        for (const int rank : layout_.distant()) {
            for (int k = layout_.of(rank).begin; k < layout_.of(rank).end; ++k) {
                messages_.receive(rank, parts_.change().span(k, layout_.own()), kChangeTag);
            }
        }
    }

    void send_changes(int k) {
        for (const int rank : layout_.distant()) {
            const auto rows = parts_.outgoing(rank).span(k, layout_.of(rank));
            messages_.send(rank, std::span<const double>(rows), kChangeTag);
        }
    }

    void receive_states() {
        const auto seen = layout_.seen_by(ranks_.id(), 1);
        for (const int rank : layout_.distant()) {
            for (int k = seen.begin; k < seen.end; ++k) {
                messages_.receive(rank, parts_.whole().span(k, layout_.of(rank)), kStateTag);
            }
        }
    }

    void send_states() {
        const auto state = [&](int k) { return parts_.state_of_rows(k).span(k, layout_.own()); };
        for (const int rank : layout_.distant()) {
            const auto seen = layout_.seen_by(rank, 1);
            for (int k = seen.begin; k < seen.end; ++k) {
                messages_.send(rank, std::span<const double>(state(k)), kStateTag);
            }
        }
        const auto seen = layout_.seen_by_host(1);
        for (int k = seen.begin; k < seen.end; ++k) {
            if (!layout_.host().has(k)) {
                const auto from = state(k);
                std::memcpy(parts_.whole().span(k, layout_.own()).data(), from.data(),
                            from.size_bytes());
            }
        }
    }

    const AdiParts& parts_;
    const AdiLayout& layout_;
    const Ranks& ranks_;
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
    const AdiLayout layout(problem.size, ranks);
    ranks.require_memory(AdiParts::own_bytes(layout), AdiParts::common_bytes(layout));
    const ExactField exact(problem.size);
    const AdiParts parts(layout, ranks);
    AdiShare<Solver> share(parts, problem.time_step, ranks);
    parts.set_forcing(exact);
    parts.set_state(exact);
    ranks.wait();
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
    box[2] = layout.own();
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
