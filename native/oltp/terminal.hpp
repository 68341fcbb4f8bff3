#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "oltp/transactions.hpp"

namespace aferir::oltp {

/// Results of all terminals together.
struct Result {
    double duration_s = 0;  ///< from the first transaction's start to the last one's end
    std::vector<double> latencies_s;
    std::map<Kind, std::int64_t> done;
    std::int64_t retries = 0;
    Books books;
};

/// Runs `transactions` of the mix, divided among so many terminals without think time. Errors:
/// DatabaseError of any of them.
Result run_terminals(const std::string& socket, const Scale& scale, int terminals,
                     std::int64_t transactions, std::uint64_t seed);

/// The percentile `percent` of the `values`, which must not be empty and are sorted in place.
double percentile(std::vector<double>& values, double percent);

}  // namespace aferir::oltp
