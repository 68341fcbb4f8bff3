#pragma once

#include <cstdint>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"

namespace aferir::oltp {

/// Makes the database `brokerage` and fills it; equal seeds give equal contents. Returns a hash of
/// the contents that depend on the seed. Errors: DatabaseError.
std::uint64_t load(Connection& database, const Scale& scale, std::int64_t seed);

}  // namespace aferir::oltp
