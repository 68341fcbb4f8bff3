#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "loadgen/keyed.hpp"

namespace aferir::loadgen {

/// Parses a URL with the scheme `redis`; see parse_keys_url().
std::optional<Target> parse_redis_url(std::string_view url);

/// `MGET` in the second version of Redis' protocol (RESP2), which Valkey and KeyDB speak as well.
std::string redis_request(const Target& target);

/// The answer to an `MGET`.
class RedisAnswer final : public KeyedAnswer {
  public:
    explicit RedisAnswer(std::size_t keys) : left_(keys) {}

  private:
    void take_line(std::string_view line) override;
    void value_ended() override;

    /// Number of values that are still missing in the answer.
    std::size_t left_;
    bool counted_ = false;
    bool misses_ = false;
};

}  // namespace aferir::loadgen
