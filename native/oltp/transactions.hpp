#pragma once

#include <cstdint>
#include <deque>
#include <random>

#include "oltp/brokerage.hpp"
#include "oltp/connection.hpp"

namespace aferir::oltp {

/// What one terminal has done, by its own books.
struct Books {
    std::int64_t ordered = 0;
    std::int64_t completed = 0;
    std::int64_t canceled = 0;

    Books& operator+=(const Books& other);
};

/// The transactions of one terminal; its orders wait for their results in a queue.
class Brokerage {
  public:
    Brokerage(Connection& database, const Scale& scale, std::uint64_t seed);

    /// Runs one transaction to its commit; retries it where the server asks for that. Returns how
    /// often it was retried. Errors: DatabaseError.
    int run(Kind kind);
    /// One of the mix, drawn at random; a result only where an order waits for one.
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
