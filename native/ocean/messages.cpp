#include "ocean/messages.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ocean/exact_sum.hpp"

namespace aferir::ocean {
namespace {

enum Tag { kToWest = 1, kToEast, kToSouth, kToNorth };
enum Column { kOutWest, kOutEast, kInWest, kInEast };

/// Whether this host has more ranks than processors that they may use.
bool more_ranks_than_processors(MPI_Comm comm) {
    MPI_Comm host = MPI_COMM_NULL;
    int ranks = 1;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    sched_getaffinity(0, sizeof processors, &processors);
    return ranks > CPU_COUNT(&processors);
}

int neighbour(int rank) { return rank < 0 ? MPI_PROC_NULL : rank; }

}  // namespace

double raw_seconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Part own_part(MPI_Comm comm, Shape shape, Split split) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return part_of(shape, split, rank);
}

Messages::Messages(MPI_Comm comm, Shape shape, Split split)
    : comm_(comm),
      gives_way_(more_ranks_than_processors(comm)),
      part_(own_part(comm, shape, split)),
      layout_(part_),
      tiles_(static_cast<std::size_t>(shape.nx / kTileX) *
             static_cast<std::size_t>(shape.ny / kTileY)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    for (auto& column : columns_) {
        column.resize(static_cast<std::size_t>(part_.ny));
    }
    requests_.fill(MPI_REQUEST_NULL);
}

// MPICH's ranks poll without yielding: if there are more ranks than processors, each message then
// takes a time slice of a rank that polls. So this polls and yields.
void Messages::wait(std::span<MPI_Request> requests) const {
    const int count = static_cast<int>(requests.size());
    if (!gives_way_) {
        MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
        return;
    }
    int done = 0;
    while (true) {
        MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
        if (done != 0) {
            return;
        }
        sched_yield();
    }
}

void Messages::pack(std::span<const double> field) {
    for (int j = 0; j < layout_.ny; ++j) {
        const auto row = static_cast<std::size_t>(j);
        columns_[kOutWest][row] = field[static_cast<std::size_t>(layout_.at(0, j))];
        columns_[kOutEast][row] = field[static_cast<std::size_t>(layout_.at(layout_.nx - 1, j))];
    }
}

void Messages::start_halo(std::span<double> field) {
    pack(field);
    const int west = part_.west;
    const int east = part_.east;
    const int south = neighbour(part_.south);
    const int north = neighbour(part_.north);
    auto take = [&, n = 0](double* into, int count, int from, Tag tag) mutable {
        MPI_Irecv(into, count, MPI_DOUBLE, from, tag, comm_,
                  &requests_[static_cast<std::size_t>(n++)]);
    };
    auto give = [&, n = 4](const double* what, int count, int to, Tag tag) mutable {
        MPI_Isend(what, count, MPI_DOUBLE, to, tag, comm_,
                  &requests_[static_cast<std::size_t>(n++)]);
    };
    double* const cells = field.data();
    take(columns_[kInWest].data(), layout_.ny, west, kToEast);
    take(columns_[kInEast].data(), layout_.ny, east, kToWest);
    take(cells + layout_.at(0, -1), layout_.nx, south, kToNorth);
    take(cells + layout_.at(0, layout_.ny), layout_.nx, north, kToSouth);
    give(columns_[kOutWest].data(), layout_.ny, west, kToWest);
    give(columns_[kOutEast].data(), layout_.ny, east, kToEast);
    give(cells + layout_.at(0, 0), layout_.nx, south, kToSouth);
    give(cells + layout_.at(0, layout_.ny - 1), layout_.nx, north, kToNorth);
}

void Messages::finish_halo(std::span<double> field) {
    const double start = raw_seconds();
    wait(requests_);
    waiting_.halos_s += raw_seconds() - start;
    for (int j = 0; j < layout_.ny; ++j) {
        const auto row = static_cast<std::size_t>(j);
        field[static_cast<std::size_t>(layout_.at(-1, j))] = columns_[kInWest][row];
        field[static_cast<std::size_t>(layout_.at(layout_.nx, j))] = columns_[kInEast][row];
    }
}

void Messages::exchange_halo(std::span<double> field) {
    start_halo(field);
    finish_halo(field);
}

void Messages::all_reduce(std::span<double> values, MPI_Op operation) {
    const int count = static_cast<int>(values.size());
    if (!gives_way_) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, operation, comm_);
        return;
    }
    std::array<MPI_Request, 1> request{};
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, operation, comm_,
                   request.data());
    wait(request);
}

void Messages::reduce(std::span<double> values, MPI_Op operation) {
    const double start = raw_seconds();
    all_reduce(values, operation);
    waiting_.sums_s += raw_seconds() - start;
    waiting_.sums += 1;
}

std::array<double, 2> Messages::sums(std::span<const double> first, std::span<const double> second,
                                     double bound) {
    while (true) {
        const Cut cut(bound, tiles_);
        const auto a = cut.add(first);
        const auto b = cut.add(second);
        std::array<double, 5> parts{a.high, a.low, b.high, b.low, a.beyond + b.beyond};
        reduce(parts, MPI_SUM);
        if (parts[4] == 0) {
            return {parts[0] + parts[1], parts[2] + parts[3]};
        }
        std::array<double, 1> most{std::max(largest(first), largest(second))};
        reduce(most, MPI_MAX);
        if (!(most[0] > bound) || !std::isfinite(most[0])) {  // NaN is larger than nothing
            constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
            return {kNone, kNone};
        }
        bound = most[0];
    }
}

}  // namespace aferir::ocean
