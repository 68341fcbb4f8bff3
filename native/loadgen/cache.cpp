#include "loadgen/cache.hpp"

#include <algorithm>

namespace aferir::loadgen {

namespace {

constexpr std::string_view kValue = "VALUE ";

/// Third word of "key flags bytes", i.e. the length; a fourth word may follow.
std::string_view third_word(std::string_view line) {
    for (int skipped = 0; skipped < 2; ++skipped) {
        const std::size_t blank = line.find(' ');
        if (blank == 0 || blank == std::string_view::npos) {
            return {};
        }
        line.remove_prefix(blank + 1);
    }
    return line.substr(0, line.find(' '));
}

}  // namespace

std::optional<Target> parse_cache_url(std::string_view url) {
    return parse_keys_url("memcached://", url);
}

std::string cache_request(const Target& target) {
    std::string text = "get " + target.path.substr(1) + "\r\n";
    std::ranges::replace(text, ',', ' ');
    return text;
}

void CacheAnswer::take_line(std::string_view line) {
    if (line == "END") {
        finish(values_ == keys_ ? 200 : 404);
    } else if (line == "ERROR" || line.starts_with("CLIENT_ERROR ") ||
               line.starts_with("SERVER_ERROR ")) {
        finish(500);
    } else if (const auto bytes = line.starts_with(kValue)
                                      ? length_of(third_word(line.substr(kValue.size())))
                                      : std::nullopt) {
        ++values_;
        skip_value(*bytes);
    } else {
        fail();
    }
}

}  // namespace aferir::loadgen
