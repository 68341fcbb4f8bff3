#pragma once

#include <string>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"
#include "oltp/transactions.hpp"

namespace aferir::oltp {

/// Checks the data after a run whose terminals have these books: rows of every table; each
/// account's cash and each holding against the completed trades; that each trade is in one state,
/// and its history agrees; brokers' counts. Returns the error, or an empty text. Errors:
/// DatabaseError.
std::string check(Connection& database, const Scale& scale, const Books& books);

}  // namespace aferir::oltp
