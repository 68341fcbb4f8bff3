#pragma once

#include <cstdint>
#include <deque>
#include <random>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"

namespace aferir::oltp {

/// Transactions of one terminal, by its own count.
struct Books {
    std::int64_t ordered = 0;
    std::int64_t completed = 0;
    std::int64_t canceled = 0;

    Books& operator+=(const Books& other);
};

/// Transactions of one terminal; its orders are queued until their results are sent.
class Brokerage {
  public:
    Brokerage(Connection& database, const Scale& scale, std::uint64_t seed);

    /// Runs one transaction to its commit, and retries it if the server requires that. Returns the
    /// number of retries. Errors: DatabaseError.
    int run(Kind kind);
    /// Draws a kind of transaction from the mix at random; a result only if an order waits for one.
    Kind draw();
    [[nodiscard]] const Books& books() const { return books_; }

  private:
    struct Trade;

    void once(Kind kind);
    void trade_order();
    void trade_result();
    void settle(const Trade& trade);
    void trade_lookup();
    void trade_update();
    void trade_status();
    void customer_position();
    void broker_volume();
    void security_detail();
    void market_feed();
    void market_watch();
    std::int64_t pick(std::int64_t most);

    Connection& database_;
    Scale scale_;
    std::mt19937_64 random_;
    std::deque<std::int64_t> waiting_;
    Books books_;
};

}  // namespace aferir::oltp
