#pragma once

#include <string>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"
#include "oltp/transactions.hpp"

namespace aferir::oltp {

/// Checks the data after a run, given the counts of its terminals (books). It compares the rows of
/// every table; each account's cash and each holding with the completed trades; the state of each
/// trade with its history; and the brokers' counts. Returns the error, or an empty text. Errors:
/// DatabaseError.
std::string check(Connection& database, const Scale& scale, const Books& books);

}  // namespace aferir::oltp
