#include "beff/rings.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "beff/definition.hpp"

namespace aferir::beff {
namespace {

// Numbers of loops and measurements, as in the HPC Challenge. The shortest of more measurements
// would be lower, and not comparable.
struct Plan {
    std::int64_t bytes;
    std::int64_t loops;
    int measurements;
    int random_rings;
    int ping_pong_loops;
    int ping_pong_measurements;
};
constexpr Plan kLatency{8, 8, 5, 30, 8, 5};
constexpr Plan kBandwidth{2'000'000, 3, 2, 10, 1, 2};
// Bytes at the start of the ping-pong send buffer that earlier tests of the HPC Challenge have
// written, found in its page tables (proc_pid_pagemap(5)); the rest was never written.
constexpr std::ptrdiff_t kWrittenBefore = std::ptrdiff_t{38} * 4096;
constexpr double kShortest = 10e-6;  // a measurement below this is repeated with more loops
constexpr int kPing = 11;
constexpr int kPong = 12;

// Seconds per message of the slowest process, by the faster of the two methods.
double ring_time(Exchange& exchange, const Partners& partners, const Plan& plan,
                 std::int64_t& loops) {
    double sendrecv = 0;
    for (;;) {
        sendrecv = exchange.run(Method::kSendrecv, partners, plan.bytes, loops);
        int long_enough = sendrecv >= kShortest ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &long_enough, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (long_enough == 1) {
            break;
        }
        loops += std::max<std::int64_t>(1, loops / 2);
        MPI_Allreduce(MPI_IN_PLACE, &loops, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    }
    const double nonblocking = exchange.run(Method::kNonblocking, partners, plan.bytes, loops);
    double seconds = std::min(sendrecv, nonblocking) / (2.0 * static_cast<double>(loops));
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

// Seconds per message in the natural ring, then in each of the random ones.
std::vector<double> ring_times(Exchange& exchange, const Plan& plan, std::uint64_t seed,
                               World here) {
    std::vector<double> least(static_cast<std::size_t>(plan.random_rings) + 1,
                              std::numeric_limits<double>::infinity());
    const std::array<int, 1> one_ring{here.processes};
    std::int64_t loops = plan.loops;
    for (int measurement = 0; measurement < plan.measurements; ++measurement) {
        for (std::size_t ring = 0; ring < least.size(); ++ring) {
            std::vector<int> order = random_order(here.processes, seed * 2654435761U + ring);
            if (ring == 0) {
                std::sort(order.begin(), order.end());
            }
            const auto place = std::find(order.begin(), order.end(), here.rank) - order.begin();
            const Neighbours near = neighbours(static_cast<int>(place), one_ring);
            const Partners partners{order[static_cast<std::size_t>(near.previous)],
                                    order[static_cast<std::size_t>(near.next)], true};
            least[ring] = std::min(least[ring], ring_time(exchange, partners, plan, loops));
        }
    }
    return least;
}

class PingPongTable {
  public:
    PingPongTable(const Plan& plan, World here)
        : plan_(plan),
          here_(here),
          last_(static_cast<std::size_t>(plan.bytes) - 1),
          sent_(last_ + 1),
          received_(last_ + 1) {
        std::fill_n(sent_.begin(), std::min(plan.bytes, kWrittenBefore), '\0');
    }

    /// Seconds that a message takes one way, for each pair; all processes get the results.
    std::vector<double> play() {
        std::vector<double> least(
            static_cast<std::size_t>(here_.processes) * static_cast<std::size_t>(here_.processes),
            std::numeric_limits<double>::infinity());
        for (int measurement = 0; measurement < plan_.ping_pong_measurements; ++measurement) {
            for (int client = 0; client < here_.processes; ++client) {
                for (int server = 0; server < here_.processes; ++server) {
                    const auto pair = static_cast<std::size_t>(client * here_.processes + server);
                    if (client != server) {
                        least[pair] = std::min(least[pair], one_pair(client, server));
                    }
                }
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(least.size()), MPI_DOUBLE,
                      MPI_MIN, MPI_COMM_WORLD);
        return least;
    }

    /// Ping-pong between the first process and the last only; the others wait.
    void try_out() {
        for (int measurement = 0; measurement < plan_.ping_pong_measurements; ++measurement) {
            one_pair(0, here_.processes - 1);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

    [[nodiscard]] bool intact() const { return intact_; }

  private:
    // Seconds that a message between the two takes one way; known to the client, infinite on all
    // other processes.
    double one_pair(int client, int server) {
        if (here_.rank == server) {
            serve(client);
        } else if (here_.rank == client) {
            return ask(server);
        }
        return std::numeric_limits<double>::infinity();
    }

    double ask(int server) {
        int loops = plan_.ping_pong_loops;
        for (;;) {
            MPI_Send(&loops, 1, MPI_INT, server, kPing, MPI_COMM_WORLD);
            rally(server, 0);
            const double start = MPI_Wtime();
            for (int round = 0; round < loops; ++round) {
                rally(server, round + 1);
            }
            const double seconds = MPI_Wtime() - start;
            if (seconds >= kShortest) {
                const int enough = 0;
                MPI_Send(&enough, 1, MPI_INT, server, kPing, MPI_COMM_WORLD);
                return seconds / (2.0 * loops);
            }
            loops += std::max(1, loops / 2);
        }
    }

    void rally(int server, int round) {
        const int bytes = static_cast<int>(plan_.bytes);
        sent_[0] = sent_[last_] = static_cast<unsigned char>(here_.rank + round);
        MPI_Send(sent_.data(), bytes, MPI_BYTE, server, kPing, MPI_COMM_WORLD);
        MPI_Recv(received_.data(), bytes, MPI_BYTE, server, kPong, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        const auto expected = static_cast<unsigned char>(sent_[0] + 13);
        intact_ = intact_ && received_[0] == expected && received_[last_] == expected;
    }

    void serve(int client) {
        const int bytes = static_cast<int>(plan_.bytes);
        for (;;) {
            int loops = 0;
            MPI_Recv(&loops, 1, MPI_INT, client, kPing, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (loops == 0) {
                return;
            }
            for (int round = -1; round < loops; ++round) {
                MPI_Recv(received_.data(), bytes, MPI_BYTE, client, kPing, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                sent_[0] = static_cast<unsigned char>(received_[0] + 13);
                sent_[last_] = static_cast<unsigned char>(received_[last_] + 13);
                MPI_Send(sent_.data(), bytes, MPI_BYTE, client, kPong, MPI_COMM_WORLD);
            }
        }
    }

    const Plan& plan_;
    World here_;
    std::size_t last_;
    Buffer sent_;
    Buffer received_;
    bool intact_ = true;
};

PingPong summary(const std::vector<double>& times, double bytes, bool as_bandwidth) {
    PingPong found{std::numeric_limits<double>::infinity(), 0, 0};
    double count = 0;
    for (const double seconds : times) {
        if (seconds == std::numeric_limits<double>::infinity()) {
            continue;  // a process with itself
        }
        const double value = as_bandwidth ? bytes / seconds : seconds;
        found.least = std::min(found.least, value);
        found.most = std::max(found.most, value);
        found.mean += value;
        count += 1;
    }
    found.mean /= std::max(count, 1.0);
    return found;
}

// Tries one pair first and frees its buffers, as the HPC Challenge does to learn how long a pair
// takes. It matters because glibc then takes the next buffers from its heap.
PingPong ping_pong(const Plan& plan, World here, bool as_bandwidth, bool& intact) {
    {
        PingPongTable trial(plan, here);
        trial.try_out();
        intact = intact && trial.intact();
    }
    PingPongTable table(plan, here);
    const auto found = summary(table.play(), static_cast<double>(plan.bytes), as_bandwidth);
    intact = intact && table.intact();
    return found;
}

}  // namespace

Challenge measure_challenge(std::uint64_t seed) {
    const World here = world();
    Challenge found;

    bool rallied = true;
    found.latency_s = ping_pong(kLatency, here, false, rallied);
    found.bandwidth_bps = ping_pong(kBandwidth, here, true, rallied);

    Exchange small(2 * kLatency.bytes, here.processes);
    const auto latencies = ring_times(small, kLatency, seed, here);
    Exchange large(2 * kBandwidth.bytes, here.processes);
    // In the HPC Challenge, one of the two messages is sent from memory that has been written,
    // because a message was received there before.
    large.touch(kBandwidth.bytes);
    const auto times = ring_times(large, kBandwidth, seed, here);
    const std::span<const double> random_latencies(latencies.begin() + 1, latencies.end());
    const std::span<const double> random_times(times.begin() + 1, times.end());
    const auto bytes = static_cast<double>(kBandwidth.bytes);
    found.natural = {latencies[0], bytes / times[0]};
    found.random = {log_average(random_latencies), bytes / log_average(random_times)};

    int intact = rallied && small.intact() && large.intact() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &intact, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    found.intact = intact == 1;
    return found;
}

}  // namespace aferir::beff
