#include "oltp/transactions.hpp"

#include <set>
#include <string>

namespace aferir::oltp {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

}  // namespace

struct Brokerage::Trade {
    std::int64_t id;
    std::string account;
    std::string security;
    bool buys;
    std::int64_t quantity;
    std::int64_t price;
};

Books& Books::operator+=(const Books& other) {
    ordered += other.ordered;
    completed += other.completed;
    canceled += other.canceled;
    return *this;
}

Brokerage::Brokerage(Connection& database, const Scale& scale, std::uint64_t seed)
    : database_(database), scale_(scale), random_(seed) {}

Kind Brokerage::draw() {
    auto place = pick(1000);
    Kind kind = Kind::kMarketWatch;
    for (const auto& share : kMix) {
        place -= share.per_mille;
        if (place <= 0) {
            kind = share.kind;
            break;
        }
    }
    return kind == Kind::kTradeResult && waiting_.empty() ? Kind::kTradeOrder : kind;
}

int Brokerage::run(Kind kind) {
    for (int retries = 0;; ++retries) {
        const auto waiting = waiting_;
        const auto books = books_;
        try {
            once(kind);
            return retries;
        } catch (const DatabaseError& error) {
            if (!error.transient()) {
                throw;
            }
            waiting_ = waiting;
            books_ = books;
            database_.execute("ROLLBACK");
        }
    }
}

void Brokerage::once(Kind kind) {
    switch (kind) {
        case Kind::kTradeOrder:
            return trade_order();
        case Kind::kTradeResult:
            return trade_result();
        case Kind::kTradeLookup:
            return trade_lookup();
        case Kind::kTradeUpdate:
            return trade_update();
        case Kind::kTradeStatus:
            return trade_status();
        case Kind::kCustomerPosition:
            return customer_position();
        case Kind::kBrokerVolume:
            return broker_volume();
        case Kind::kSecurityDetail:
            return security_detail();
        case Kind::kMarketFeed:
            return market_feed();
        case Kind::kMarketWatch:
            return market_watch();
    }
}

// A customer buys or sells; half of the orders are for a security that the account holds. 1 in 100
// is cancelled.
void Brokerage::trade_order() {
    const auto account = text(pick(scale_.accounts()));
    database_.execute("START TRANSACTION");
    database_.rows(
        "SELECT c_name, c_tier, b_name, a_balance FROM account JOIN customer ON c_id = a_c_id"
        " JOIN broker ON b_id = a_b_id WHERE a_id = " +
        account);
    auto security = text(pick(scale_.securities()));
    const bool buys = pick(2) == 1;
    if (!buys) {
        const auto held = database_.rows("SELECT h_s_id FROM holding WHERE h_a_id = " + account);
        if (!held.empty()) {
            security = held[static_cast<std::size_t>(pick(std::ssize(held)) - 1)][0];
        }
    }
    database_.execute(
        "INSERT INTO trade (t_a_id, t_s_id, t_buys, t_quantity, t_price, t_state) SELECT " +
        account + ", lt_s_id, " + text(buys ? 1 : 0) + ", " + text(pick(8) * 100) + ", lt_price, " +
        text(kSubmitted) + " FROM last_trade WHERE lt_s_id = " + security);
    const auto id = database_.inserted();
    database_.execute("INSERT INTO trade_history VALUES (" + text(id) + ", " + text(kSubmitted) +
                      ", NOW(6))");
    if (pick(100) == 1) {
        return database_.execute("ROLLBACK");
    }
    database_.execute("COMMIT");
    waiting_.push_back(id);
    ++books_.ordered;
}

// The market returns the result of this terminal's oldest order.
void Brokerage::trade_result() {
    const auto id = waiting_.front();
    database_.execute("START TRANSACTION");
    const auto found = database_.rows(
        "SELECT t_a_id, t_s_id, t_buys, t_quantity, t_price FROM trade WHERE t_id = " + text(id) +
        " FOR UPDATE");
    const Row& row = found.at(0);
    const Trade trade{id, row[0], row[1], row[2] == "1", std::stoll(row[3]), std::stoll(row[4])};
    const auto held =
        database_.number("SELECT h_quantity FROM holding WHERE h_a_id = " + trade.account +
                         " AND h_s_id = " + trade.security + " FOR UPDATE");
    const bool possible = trade.buys || held >= trade.quantity;
    if (possible) {
        settle(trade);
    }
    const auto state = text(possible ? kCompleted : kCanceled);
    database_.execute("UPDATE trade SET t_state = " + state + " WHERE t_id = " + text(id));
    database_.execute("INSERT INTO trade_history VALUES (" + text(id) + ", " + state + ", NOW(6))");
    database_.execute("COMMIT");
    waiting_.pop_front();
    ++(possible ? books_.completed : books_.canceled);
}

void Brokerage::settle(const Trade& trade) {
    const auto quantity = (trade.buys ? "" : "-") + text(trade.quantity);
    const auto money = (trade.buys ? "-" : "") + text(trade.quantity * trade.price);
    database_.execute("INSERT INTO holding VALUES (" + trade.account + ", " + trade.security +
                      ", " + quantity + ") ON DUPLICATE KEY UPDATE h_quantity = h_quantity + " +
                      quantity);
    database_.execute("UPDATE account SET a_balance = a_balance + " + money +
                      " WHERE a_id = " + trade.account);
    database_.execute(
        "UPDATE broker JOIN account ON b_id = a_b_id SET b_trades = b_trades + 1"
        " WHERE a_id = " +
        trade.account);
}

void Brokerage::trade_lookup() {
    database_.rows(
        "SELECT t_id, t_price, t_quantity, th_state, th_when FROM trade JOIN trade_history"
        " ON th_t_id = t_id WHERE t_a_id = " +
        text(pick(scale_.accounts())) + " ORDER BY t_id DESC LIMIT 40");
}

void Brokerage::trade_update() {
    database_.execute("START TRANSACTION");
    const auto trades =
        database_.rows("SELECT t_id FROM trade WHERE t_a_id = " + text(pick(scale_.accounts())) +
                       " ORDER BY t_id LIMIT 20");
    for (const auto& trade : trades) {
        database_.execute("UPDATE trade SET t_note = 'noted " + text(pick(1'000'000)) +
                          "' WHERE t_id = " + trade[0]);
    }
    database_.execute("COMMIT");
}

void Brokerage::trade_status() {
    database_.rows(
        "SELECT t_id, t_state, t_quantity, t_price, s_symbol, s_about FROM trade JOIN security"
        " ON s_id = t_s_id WHERE t_a_id = " +
        text(pick(scale_.accounts())) + " ORDER BY t_id DESC LIMIT 50");
}

void Brokerage::customer_position() {
    database_.rows(
        "SELECT a_id, a_balance, SUM(h_quantity * lt_price) FROM account JOIN holding"
        " ON h_a_id = a_id JOIN last_trade ON lt_s_id = h_s_id WHERE a_c_id = " +
        text(pick(scale_.customers)) + " GROUP BY a_id, a_balance");
}

void Brokerage::broker_volume() {
    database_.rows(
        "SELECT a_b_id, SUM(t_quantity * t_price) AS volume FROM trade JOIN account"
        " ON a_id = t_a_id WHERE t_state = " +
        text(kSubmitted) + " GROUP BY a_b_id ORDER BY volume DESC LIMIT 20");
}

void Brokerage::security_detail() {
    const auto security = text(pick(scale_.securities()));
    database_.rows("SELECT * FROM security JOIN last_trade ON lt_s_id = s_id WHERE s_id = " +
                   security);
    database_.rows("SELECT t_price, t_quantity FROM trade WHERE t_s_id = " + security +
                   " ORDER BY t_id DESC LIMIT 20");
}

// Changes prices of 20 securities by up to 10 cents each, in the order of their keys, so that no
// two feeds deadlock.
void Brokerage::market_feed() {
    std::set<std::int64_t> securities;
    while (securities.size() < 20) {
        securities.insert(pick(scale_.securities()));
    }
    database_.execute("START TRANSACTION");
    for (const auto security : securities) {
        database_.execute("UPDATE last_trade SET lt_price = GREATEST(100, lt_price + " +
                          text(pick(21) - 11) + "), lt_volume = lt_volume + " +
                          text(pick(8) * 100) + " WHERE lt_s_id = " + text(security));
    }
    database_.execute("COMMIT");
}

void Brokerage::market_watch() {
    database_.rows(
        "SELECT SUM(h_quantity * lt_price), COUNT(DISTINCT h_s_id) FROM account JOIN holding"
        " ON h_a_id = a_id JOIN last_trade ON lt_s_id = h_s_id WHERE a_c_id = " +
        text(pick(scale_.customers)));
}

// A uniform number from 1 to `most`. It uses no distribution of the standard library, whose results
// differ between implementations.
std::int64_t Brokerage::pick(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
}

}  // namespace aferir::oltp
