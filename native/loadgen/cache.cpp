#include "loadgen/cache.hpp"

#include <algorithm>
#include <charconv>

namespace aferir::loadgen {

namespace {

constexpr std::string_view kScheme = "memcached://";
constexpr std::string_view kValue = "VALUE ";
constexpr std::size_t kLongestKey = 250;
/// A key with what stands around it in a line.
constexpr std::size_t kLongestLine = 512;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kLineEnd = 2;

/// "VALUE key flags bytes", and a fourth number if it was asked for.
std::optional<std::int64_t> bytes_of(std::string_view line) {
    line.remove_prefix(kValue.size());
    for (int skipped = 0; skipped < 2; ++skipped) {
        const std::size_t blank = line.find(' ');
        if (blank == 0 || blank == std::string_view::npos) {
            return std::nullopt;
        }
        line.remove_prefix(blank + 1);
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const bool whole = end == line.data() + line.size() || *end == ' ';
    return error == std::errc{} && whole && value >= 0 && value <= kMostBytes ? std::optional(value)
                                                                              : std::nullopt;
}

}  // namespace

std::optional<Target> parse_cache_url(std::string_view url) {
    if (!url.starts_with(kScheme)) {
        return std::nullopt;
    }
    url.remove_prefix(kScheme.size());
    auto target = parse_url("http://" + std::string(url));
    if (!target || target->path.size() < 2) {
        return std::nullopt;
    }
    std::string_view keys = std::string_view(target->path).substr(1);
    while (true) {
        const std::size_t comma = std::min(keys.find(','), keys.size());
        if (comma == 0 || comma > kLongestKey) {
            return std::nullopt;
        }
        if (comma == keys.size()) {
            return target;
        }
        keys.remove_prefix(comma + 1);
    }
}

std::string cache_request(const Target& target) {
    std::string text = "get " + target.path.substr(1) + "\r\n";
    std::ranges::replace(text, ',', ' ');
    return text;
}

std::size_t cache_keys(const Target& target) {
    return static_cast<std::size_t>(std::ranges::count(target.path, ',')) + 1;
}

void CacheAnswer::feed(std::span<const char> bytes) {
    begun_ = begun_ || !bytes.empty();
    while (!bytes.empty() && state_ == Answer::State::kReading) {
        if (left_ > 0) {
            const auto some = std::min(static_cast<std::int64_t>(bytes.size()), left_);
            left_ -= some;
            bytes = bytes.subspan(static_cast<std::size_t>(some));
            continue;
        }
        take(bytes.front());
        bytes = bytes.subspan(1);
    }
    if (!bytes.empty() && state_ == Answer::State::kDone) {
        state_ = Answer::State::kBroken;
    }
}

void CacheAnswer::end() {
    ended_ = true;
    if (state_ == Answer::State::kReading) {
        state_ = Answer::State::kBroken;
    }
}

void CacheAnswer::take(char byte) {
    if (byte != '\n') {
        line_.push_back(byte);
        if (line_.size() > kLongestLine) {
            state_ = Answer::State::kBroken;
        }
        return;
    }
    if (line_.ends_with('\r')) {
        line_.pop_back();
        take_line();
        line_.clear();
    } else {
        state_ = Answer::State::kBroken;
    }
}

void CacheAnswer::take_line() {
    const std::string_view line = line_;
    if (line == "END") {
        status_ = values_ == keys_ ? 200 : 404;
        state_ = Answer::State::kDone;
    } else if (line == "ERROR" || line.starts_with("CLIENT_ERROR ") ||
               line.starts_with("SERVER_ERROR ")) {
        status_ = 500;
        state_ = Answer::State::kDone;
    } else if (const auto bytes = line.starts_with(kValue) ? bytes_of(line) : std::nullopt) {
        ++values_;
        left_ = *bytes + kLineEnd;
    } else {
        state_ = Answer::State::kBroken;
    }
}

}  // namespace aferir::loadgen
