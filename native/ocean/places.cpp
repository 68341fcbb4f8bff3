#include "ocean/places.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "common/arguments.hpp"
#include "ocean/messages.hpp"

namespace aferir::ocean {
namespace {

constexpr int kMostGroups = 1024;
constexpr int kLooks = 100;

/// Context switches that the kernel has counted since its start (proc_stat(5)).
long long switches() {
    std::ifstream stat("/proc/stat");
    for (std::string line; std::getline(stat, line);) {
        if (line.starts_with("ctxt ")) {
            return std::atoll(line.c_str() + 5);
        }
    }
    return 0;
}

/// One kernel counts for all of its containers, and never down. So a number that is read on one
/// host lies between two that are read on another before and afterwards, if they have one kernel.
void compare_kernels(MPI_Comm comm, Places& places) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::array<long long, 4> mine{places.host, 0, 0, 0};
    for (std::size_t look = 1; look < mine.size(); ++look) {
        mine[look] = switches();
        MPI_Barrier(comm);
    }
    std::vector<long long> all(mine.size() * static_cast<std::size_t>(ranks));
    MPI_Allgather(mine.data(), mine.size(), MPI_LONG_LONG, all.data(), mine.size(), MPI_LONG_LONG,
                  comm);
    int shared = 1;
    for (std::size_t at = 0; at < all.size(); at += mine.size()) {
        const bool same = mine[1] <= all[at + 2] && all[at + 2] <= mine[3] &&
                          all[at + 1] <= mine[2] && mine[2] <= all[at + 3];
        if (all[at] != places.host) {
            places.own_kernel = places.own_kernel && !same;
            shared = shared != 0 && same ? 1 : 0;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_LAND, comm);
    places.one_kernel = shared != 0;
}

/// CLOCK_MONOTONIC_RAW and MPI_Wtime of one moment.
std::array<double, 2> both_clocks() {
    std::array<double, 2> best{};
    double narrowest = 1;
    for (int look = 0; look < kLooks; ++look) {
        const double before = raw_seconds();
        const double time = MPI_Wtime();
        const double after = raw_seconds();
        if (look == 0 || after - before < narrowest) {
            narrowest = after - before;
            best = {before + narrowest / 2, time};
        }
    }
    return best;
}

double ahead_of_first(MPI_Comm comm) {
    const auto mine = both_clocks();
    auto first = mine;
    MPI_Bcast(first.data(), 2, MPI_DOUBLE, 0, comm);
    return (mine[0] - mine[1]) - (first[0] - first[1]);
}

/// What aferir told the first host's programs: its address comes first.
std::string address_of_first(MPI_Comm comm) {
    std::array<char, 64> address{};
    const char* const told = std::getenv("AFERIR_ADDRESSES");
    if (told != nullptr) {
        const std::string first(told, std::strcspn(told, " "));
        first.copy(address.data(), address.size() - 1);
    }
    MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_CHAR, 0, comm);
    if (address[0] == '\0') {
        throw UsageError("AFERIR_ADDRESSES does not say where other hosts reach rank 0's");
    }
    return address.data();
}

}  // namespace

Places find_places(MPI_Comm comm, int groups) {
    Places places;
    MPI_Comm own = MPI_COMM_NULL;
    int rank = 0;
    int ranks = 1;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &own);
    MPI_Comm_rank(own, &rank);
    MPI_Comm_size(own, &ranks);
    places.leads_host = rank == 0;
    const int leads = places.leads_host ? 1 : 0;
    MPI_Allreduce(&leads, &places.hosts, 1, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(&leads, &places.host, 1, MPI_INT, MPI_SUM, comm);  // rank 0 gets nothing
    MPI_Bcast(&places.host, 1, MPI_INT, 0, own);
    MPI_Comm_free(&own);
    const int here = std::min(std::max(1, groups / places.hosts), ranks);
    const int group = static_cast<int>(static_cast<long long>(rank) * here / ranks);
    places.group = places.host * kMostGroups + group;
    places.odd = (places.host + group) % 2 != 0;
    places.address = "127.0.0.1";
    if (places.hosts > 1) {
        places.address = address_of_first(comm);
        compare_kernels(comm, places);
        places.ahead_s = places.one_kernel ? 0 : ahead_of_first(comm);
    }
    return places;
}

}  // namespace aferir::ocean
