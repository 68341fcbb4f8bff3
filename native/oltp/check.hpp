#pragma once

#include <string>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"
#include "oltp/transactions.hpp"

namespace aferir::oltp {

/// What is wrong with the data after a run whose terminals' books are these; empty: nothing.
/// Checked: rows of every table; each account's cash and each holding against the trades that were
/// completed; each trade in one state, its history the same; brokers' counts. Errors:
/// DatabaseError.
std::string check(Connection& database, const Scale& scale, const Books& books);

}  // namespace aferir::oltp
