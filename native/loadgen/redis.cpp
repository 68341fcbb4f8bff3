#include "loadgen/redis.hpp"

#include <ranges>

namespace aferir::loadgen {

namespace {

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

}  // namespace

std::optional<Target> parse_redis_url(std::string_view url) {
    return parse_keys_url("redis://", url);
}

std::string redis_request(const Target& target) {
    std::string text = "*" + std::to_string(1 + keys_of(target)) + "\r\n" + bulk("MGET");
    for (const auto key : std::views::split(std::string_view(target.path).substr(1), ',')) {
        text += bulk(std::string_view(key.begin(), key.end()));
    }
    return text;
}

void RedisAnswer::take_line(std::string_view line) {
    if (line.starts_with('-')) {
        finish(500);
        return;
    }
    const auto length = length_of(line.substr(line.empty() ? 0 : 1));
    if (!counted_) {
        counted_ = line.starts_with('*') && length == static_cast<std::int64_t>(left_);
        if (!counted_) {
            fail();
        }
    } else if (line == "$-1") {
        misses_ = true;
        value_ended();
    } else if (line.starts_with('$') && length) {
        skip_value(*length);
    } else {
        fail();
    }
}

void RedisAnswer::value_ended() {
    if (--left_ == 0) {
        finish(misses_ ? 404 : 200);
    }
}

}  // namespace aferir::loadgen
