#include "npb_mpi/decomposition.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "common/arguments.hpp"

namespace aferir::npb {

Part share_of(std::size_t size, int index, int count, std::size_t unit) {
    const auto bound = [&](int part) {
        return part == count ? size
                             : size * static_cast<std::size_t>(part) /
                                   static_cast<std::size_t>(count) / unit * unit;
    };
    return {bound(index), bound(index + 1)};
}

Hosts hosts_by_leader(std::span<const int> leaders, int rank) {
    std::map<int, std::vector<int>> by_leader;
    for (std::size_t i = 0; i < leaders.size(); ++i) {
        by_leader[leaders[i]].push_back(static_cast<int>(i));
    }
    Hosts hosts;
    for (auto& [leader, members] : by_leader) {
        const auto found = std::find(members.begin(), members.end(), rank);
        if (found != members.end()) {
            hosts.own = hosts.members.size();
            hosts.place = static_cast<std::size_t>(found - members.begin());
        }
        hosts.members.push_back(std::move(members));
    }
    return hosts;
}

std::vector<std::size_t> split_buckets(std::span<const std::int64_t> counts, int parts) {
    const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    std::vector<std::size_t> bounds{0};
    std::size_t bucket = 0;
    std::int64_t before = 0;
    for (int part = 1; part < parts; ++part) {
        const auto wanted = total * part / parts;
        // A bucket goes to the side on which more of it is wanted.
        while (bucket < counts.size() && before + counts[bucket] / 2 < wanted) {
            before += counts[bucket++];
        }
        bounds.push_back(bucket);
    }
    bounds.push_back(counts.size());
    return bounds;
}

void require_power_of_two(std::string_view kernel, int count, int most) {
    if (count > most || !std::has_single_bit(static_cast<unsigned>(count))) {
        throw UsageError(std::string(kernel) + " of this class cannot be shared by " +
                         std::to_string(count) + " processes; start a power of two of them, at " +
                         "most " + std::to_string(most));
    }
}

ProcessGrid process_grid(int count) {
    int rows = 1;
    for (int divisor = 2; divisor * divisor <= count; ++divisor) {
        rows = count % divisor == 0 ? divisor : rows;
    }
    return {rows, count / rows};
}

ProcessGrid pencil_grid(int size, int count) {
    const auto grid = process_grid(count);
    const int most = (size - 2) / 2;
    if (grid.columns > most) {
        throw UsageError("LU of this class cannot be shared by " + std::to_string(grid.rows) +
                         " x " + std::to_string(grid.columns) +
                         " processes; start a power of two of them, or any product of two numbers "
                         "up to " +
                         std::to_string(most));
    }
    return grid;
}

void require_at_most(std::string_view kernel, int count, int most) {
    if (count > most) {
        throw UsageError(std::string(kernel) + " of this class cannot be shared by " +
                         std::to_string(count) + " processes; start at most " +
                         std::to_string(most));
    }
}

}  // namespace aferir::npb
