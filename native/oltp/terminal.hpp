#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "oltp/transactions.hpp"

namespace aferir::oltp {

/// What all terminals together have done.
struct Result {
    double duration_s = 0;  ///< from the first transaction's start to the last one's end
    std::vector<double> latencies_s;
    std::map<Kind, std::int64_t> done;
    std::int64_t retries = 0;
    Books books;
};

/// Runs `transactions` of the mix, shared out among so many terminals without think time.
/// Errors: DatabaseError of any of them.
Result run_terminals(const std::string& socket, const Scale& scale, int terminals,
                     std::int64_t transactions, std::uint64_t seed);

/// The value below which so many of 100 are; `values` are not empty, and get sorted.
double percentile(std::vector<double>& values, double percent);

}  // namespace aferir::oltp
