#include "oltp/load.hpp"

#include <string>

namespace aferir::oltp {
namespace {

constexpr std::array kTables = {
    "CREATE TABLE customer (c_id INT PRIMARY KEY, c_tier INT NOT NULL, c_name CHAR(40) NOT NULL)",
    "CREATE TABLE broker (b_id INT PRIMARY KEY, b_name CHAR(40) NOT NULL,"
    " b_trades BIGINT NOT NULL)",
    "CREATE TABLE account (a_id INT PRIMARY KEY, a_c_id INT NOT NULL, a_b_id INT NOT NULL,"
    " a_balance BIGINT NOT NULL, KEY (a_c_id), KEY (a_b_id))",
    "CREATE TABLE security (s_id INT PRIMARY KEY, s_symbol CHAR(12) NOT NULL,"
    " s_industry INT NOT NULL, s_about CHAR(200) NOT NULL, KEY (s_industry))",
    "CREATE TABLE last_trade (lt_s_id INT PRIMARY KEY, lt_price BIGINT NOT NULL,"
    " lt_volume BIGINT NOT NULL)",
    "CREATE TABLE holding (h_a_id INT NOT NULL, h_s_id INT NOT NULL, h_quantity BIGINT NOT NULL,"
    " PRIMARY KEY (h_a_id, h_s_id))",
    "CREATE TABLE trade (t_id BIGINT PRIMARY KEY AUTO_INCREMENT, t_a_id INT NOT NULL,"
    " t_s_id INT NOT NULL, t_buys BOOL NOT NULL, t_quantity BIGINT NOT NULL,"
    " t_price BIGINT NOT NULL, t_state TINYINT NOT NULL, t_note CHAR(40) NOT NULL DEFAULT '',"
    " KEY (t_a_id), KEY (t_s_id), KEY (t_state))",
    "CREATE TABLE trade_history (th_t_id BIGINT NOT NULL, th_state TINYINT NOT NULL,"
    " th_when DATETIME(6) NOT NULL, PRIMARY KEY (th_t_id, th_state))",
};

// SQL expression of a number that depends on the row, its purpose (`what`) and the seed.
std::string drawn(const std::string& what, std::int64_t seed) {
    return "CRC32(CONCAT(seq, '" + what + std::to_string(seed) + "'))";
}

std::string upto(std::int64_t last) { return " FROM seq_1_to_" + std::to_string(last); }

void fill_market(Connection& database, const Scale& scale, std::int64_t seed) {
    database.execute("INSERT INTO security SELECT seq, CONCAT('S', seq), " + drawn("i", seed) +
                     " % 102, REPEAT(MD5(" + drawn("a", seed) + "), 6)" + upto(scale.securities()));
    database.execute("INSERT INTO last_trade SELECT seq, 1000 + " + drawn("p", seed) +
                     " % 9000, 0" + upto(scale.securities()));
    database.execute("INSERT INTO broker SELECT seq, CONCAT('Broker ', seq), 0" +
                     upto(scale.brokers()));
}

void fill_customers(Connection& database, const Scale& scale, std::int64_t seed) {
    const auto securities = std::to_string(scale.securities());
    const auto holdings = std::to_string(Scale::kHoldings);
    database.execute("INSERT INTO customer SELECT seq, 1 + " + drawn("c", seed) +
                     " % 3, CONCAT('Customer ', seq)" + upto(scale.customers));
    database.execute("INSERT INTO account SELECT seq, 1 + (seq - 1) DIV " +
                     std::to_string(Scale::kAccounts) + ", 1 + " + drawn("b", seed) + " % " +
                     std::to_string(scale.brokers()) + ", " + std::to_string(kFirstBalance) +
                     upto(scale.accounts()));
    // The securities of an account are a quarter of all securities apart, so that no two are the
    // same.
    database.execute("INSERT INTO holding SELECT 1 + (seq - 1) DIV " + holdings +
                     ", 1 + (CRC32(CONCAT((seq - 1) DIV " + holdings + ", 'h" +
                     std::to_string(seed) + "')) + seq % " + holdings + " * (" + securities +
                     " DIV " + holdings + ")) % " + securities + ", " +
                     std::to_string(kFirstQuantity) + upto(scale.holdings()));
    database.execute("INSERT INTO trade SELECT seq, 1 + (seq - 1) DIV " +
                     std::to_string(Scale::kTrades) + ", 1 + " + drawn("s", seed) + " % " +
                     securities + ", seq % 2, 1 + " + drawn("q", seed) + " % 100, 1000 + " +
                     drawn("v", seed) + " % 9000, " + std::to_string(kCompleted) + ", ''" +
                     upto(scale.trades()));
    for (const int state : {kSubmitted, kCompleted}) {
        database.execute("INSERT INTO trade_history SELECT t_id, " + std::to_string(state) +
                         ", '2020-01-01' FROM trade");
    }
}

}  // namespace

std::uint64_t load(Connection& database, const Scale& scale, std::int64_t seed) {
    database.execute("CREATE DATABASE brokerage");
    database.execute("USE brokerage");
    for (const char* const table : kTables) {
        database.execute(std::string(table) + " ENGINE=InnoDB");
    }
    fill_market(database, scale, seed);
    fill_customers(database, scale, seed);
    const auto market = database.number(
        "SELECT SUM(lt_price * lt_s_id + CRC32(s_about)) FROM last_trade JOIN security"
        " ON s_id = lt_s_id");
    const auto trades = database.number("SELECT SUM(t_price * t_s_id + t_quantity) FROM trade");
    return static_cast<std::uint64_t>(market) * 1'000'003 + static_cast<std::uint64_t>(trades);
}

}  // namespace aferir::oltp
