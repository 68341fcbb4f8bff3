#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "loadgen/keyed.hpp"

namespace aferir::loadgen {

/// Parses a URL with the scheme `memcached`; see parse_keys_url().
std::optional<Target> parse_cache_url(std::string_view url);

/// `get` of memcached's text protocol (protocol.txt of its sources).
std::string cache_request(const Target& target);

/// The answer to a `get`.
class CacheAnswer final : public KeyedAnswer {
  public:
    explicit CacheAnswer(std::size_t keys) : keys_(keys) {}

  private:
    void take_line(std::string_view line) override;

    std::size_t keys_;
    std::size_t values_ = 0;
};

}  // namespace aferir::loadgen
