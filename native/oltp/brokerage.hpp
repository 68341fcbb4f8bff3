#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace aferir::oltp {

/// Sizes of the tables, in proportion to customers as in TPC-E (TPC Benchmark E 1.14.0, section
/// 2.6: 5 accounts a customer on average, 685 securities per 1,000 customers, a broker for each
/// 100), but with a short history.
struct Scale {
    std::int64_t customers = 1000;

    [[nodiscard]] std::int64_t accounts() const { return kAccounts * customers; }
    [[nodiscard]] std::int64_t securities() const {
        return std::max<std::int64_t>(20, customers * 685 / 1000);
    }
    [[nodiscard]] std::int64_t brokers() const {
        return std::max<std::int64_t>(1, customers / 100);
    }
    [[nodiscard]] std::int64_t holdings() const { return kHoldings * accounts(); }
    [[nodiscard]] std::int64_t trades() const { return kTrades * accounts(); }

    static constexpr std::int64_t kAccounts = 5;  ///< of each customer
    static constexpr std::int64_t kHoldings = 4;  ///< of each account, of different securities
    static constexpr std::int64_t kTrades = 10;   ///< of each account, completed before the run
};

constexpr std::int64_t kFirstBalance = 1'000'000'000;  ///< cents on each account
constexpr std::int64_t kFirstQuantity = 1000;          ///< of each holding

/// State of a trade, which is always in one of them.
enum TradeState : int { kSubmitted = 0, kCompleted = 1, kCanceled = 2 };

/// The ten transactions and their frequencies in 1,000 (TPC Benchmark E 1.14.0, section 6.2.2.1).
enum class Kind {
    kTradeOrder,
    kTradeResult,
    kTradeLookup,
    kTradeUpdate,
    kTradeStatus,
    kCustomerPosition,
    kBrokerVolume,
    kSecurityDetail,
    kMarketFeed,
    kMarketWatch,
};

struct Share {
    Kind kind;
    std::string_view name;
    int per_mille;
};

inline constexpr std::array kMix = {
    Share{Kind::kTradeOrder, "trade_order", 101},
    Share{Kind::kTradeResult, "trade_result", 100},
    Share{Kind::kTradeLookup, "trade_lookup", 80},
    Share{Kind::kTradeUpdate, "trade_update", 20},
    Share{Kind::kTradeStatus, "trade_status", 190},
    Share{Kind::kCustomerPosition, "customer_position", 130},
    Share{Kind::kBrokerVolume, "broker_volume", 49},
    Share{Kind::kSecurityDetail, "security_detail", 140},
    Share{Kind::kMarketFeed, "market_feed", 10},
    Share{Kind::kMarketWatch, "market_watch", 180},
};

}  // namespace aferir::oltp
