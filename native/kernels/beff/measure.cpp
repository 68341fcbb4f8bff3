#include "beff/measure.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>

namespace aferir::beff {
namespace {

constexpr std::int64_t kFirstLoops = 10;
constexpr std::array<Method, kMethods> kAll{Method::kSendrecv, Method::kAlltoallv,
                                            Method::kNonblocking};
constexpr std::int64_t kSlots = 6;

// Measures all message sizes by one method, once.
class Series {
  public:
    Series(const Options& options, Exchange& exchange, std::span<const Partners> partners)
        : options_(options), exchange_(exchange), partners_(partners) {}

    void run(Method method, std::size_t index, Measured& best) {
        const auto sizes = message_sizes(options_.largest_bytes);
        LoopLength known{kFirstLoops, 0, 1, options_.budget_s, kFirstLoops};
        known.took_s = pass(method, sizes[0], kFirstLoops, nullptr);
        known.most = std::numeric_limits<std::int64_t>::max();
        known.most = std::max(next_loops(known), kFirstLoops);
        for (std::size_t size = 0; size < kSizes; ++size) {
            known.size_ratio =
                size == 0 ? 2
                          : static_cast<double>(sizes[size]) / static_cast<double>(sizes[size - 1]);
            known.previous = agreed(next_loops(known));
            std::array<double, kPatterns> bandwidth{};
            known.took_s = pass(method, sizes[size], known.previous, &bandwidth);
            for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
                double& so_far = best[pattern][index][size];
                so_far = std::max(so_far, bandwidth[pattern]);
            }
        }
    }

  private:
    // Runs all patterns; returns the time of the slowest process for all of them.
    double pass(Method method, std::int64_t bytes, std::int64_t loops,
                std::array<double, kPatterns>* bandwidth) {
        std::array<double, kPatterns> own{};
        std::array<double, kPatterns> slowest{};
        std::array<std::int64_t, kPatterns> messages{};
        std::array<std::int64_t, kPatterns> total{};
        for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
            own[pattern] = exchange_.run(method, partners_[pattern], bytes, loops);
            messages[pattern] = partners_[pattern].messages();
        }
        const int count = static_cast<int>(kPatterns);
        MPI_Allreduce(own.data(), slowest.data(), count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        MPI_Allreduce(messages.data(), total.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (std::size_t pattern = 0; bandwidth != nullptr && pattern < kPatterns; ++pattern) {
            (*bandwidth)[pattern] = static_cast<double>(bytes * total[pattern] * loops) /
                                    std::max(slowest[pattern], 1e-9);
        }
        return std::accumulate(slowest.begin(), slowest.end(), 0.0);
    }

    static std::int64_t agreed(std::int64_t loops) {
        MPI_Bcast(&loops, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        return loops;
    }

    const Options& options_;
    Exchange& exchange_;
    std::span<const Partners> partners_;
};

}  // namespace

std::vector<Partners> partners_of(int rank, int processes, std::uint64_t seed) {
    std::vector<Partners> partners;
    partners.reserve(kPatterns);
    for (std::size_t pattern = 0; pattern < kRings; ++pattern) {
        const auto lengths = ring_lengths(pattern, processes);
        const Neighbours near = neighbours(rank, lengths);
        partners.push_back({near.previous, near.next});
    }
    const std::array<int, 1> one_ring{processes};
    for (std::size_t random = 0; random < kRandomRings; ++random) {
        const auto order = random_order(processes, seed * 1000003U + random);
        const auto here = std::find(order.begin(), order.end(), rank) - order.begin();
        const Neighbours near = neighbours(static_cast<int>(here), one_ring);
        partners.push_back({order[static_cast<std::size_t>(near.previous)],
                            order[static_cast<std::size_t>(near.next)]});
    }
    return partners;
}

Outcome measure(const Options& options) {
    const World here = world();
    const auto partners = partners_of(here.rank, here.processes, options.seed);
    const auto room = (options.largest_bytes + 16) * kSlots;
    Exchange exchange(room, here.processes);
    exchange.touch(room);
    Outcome outcome;
    Series series(options, exchange, partners);
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t method = 0; method < kMethods; ++method) {
            series.run(kAll[method], method, outcome.measured);
        }
    }
    int own = exchange.intact() ? 1 : 0;
    int all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    outcome.intact = all == 1;
    return outcome;
}

}  // namespace aferir::beff
