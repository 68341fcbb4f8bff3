#include "oltp/check.hpp"

#include <array>
#include <utility>
#include <vector>

namespace aferir::oltp {
namespace {

// Condition that selects completed trades of the run.
std::string completed(const Scale& scale) {
    return "t_state = " + std::to_string(kCompleted) + " AND t_id > " +
           std::to_string(scale.trades());
}

std::string wrong_accounts(const Scale& scale) {
    return "SELECT COUNT(*) FROM account LEFT JOIN (SELECT t_a_id, SUM(IF(t_buys, -1, 1) *"
           " t_quantity * t_price) AS money FROM trade WHERE " +
           completed(scale) + " GROUP BY t_a_id) AS moved ON t_a_id = a_id WHERE a_balance <> " +
           std::to_string(kFirstBalance) + " + IFNULL(money, 0)";
}

// Before the run each holding has 1,000 shares, so each account has 4,000 in all.
std::string wrong_holdings(const Scale& scale) {
    return "SELECT COUNT(*) FROM (SELECT h_a_id, SUM(h_quantity) AS held, MIN(h_quantity) AS least"
           " FROM holding GROUP BY h_a_id) AS own LEFT JOIN (SELECT t_a_id, SUM(IF(t_buys, 1, -1)"
           " * t_quantity) AS moved FROM trade WHERE " +
           completed(scale) + " GROUP BY t_a_id) AS trades ON t_a_id = h_a_id WHERE held <> " +
           std::to_string(Scale::kHoldings * kFirstQuantity) + " + IFNULL(moved, 0) OR least < 0";
}

std::string in_state(const Scale& scale, int state) {
    return "SELECT COUNT(*) FROM trade WHERE t_id > " + std::to_string(scale.trades()) +
           " AND t_state = " + std::to_string(state);
}

// Counts trades with a wrong history: it must begin with the submission and end with the present
// state.
constexpr const char* kWrongHistory =
    "SELECT COUNT(*) FROM trade LEFT JOIN (SELECT th_t_id, MIN(th_state) AS first, MAX(th_state)"
    " AS last, COUNT(*) AS states FROM trade_history GROUP BY th_t_id) AS past ON th_t_id = t_id"
    " WHERE first IS NULL OR first <> 0 OR last <> t_state OR states <> 1 + (t_state > 0)";

}  // namespace

std::string check(Connection& database, const Scale& scale, const Books& books) {
    const auto pending = books.ordered - books.completed - books.canceled;
    const std::vector<std::pair<std::string, std::int64_t>> expected = {
        {"SELECT COUNT(*) FROM customer", scale.customers},
        {"SELECT COUNT(*) FROM account", scale.accounts()},
        {"SELECT COUNT(*) FROM security", scale.securities()},
        {"SELECT COUNT(*) FROM last_trade", scale.securities()},
        {"SELECT COUNT(*) FROM trade", scale.trades() + books.ordered},
        {in_state(scale, kSubmitted), pending},
        {in_state(scale, kCompleted), books.completed},
        {in_state(scale, kCanceled), books.canceled},
        {"SELECT SUM(b_trades) FROM broker", books.completed},
        {wrong_accounts(scale), 0},
        {wrong_holdings(scale), 0},
        {kWrongHistory, 0},
    };
    for (const auto& [statement, number] : expected) {
        const auto found = database.number(statement);
        if (found != number) {
            return "expected " + std::to_string(number) + ", found " + std::to_string(found) +
                   ": " + statement;
        }
    }
    return "";
}

}  // namespace aferir::oltp
