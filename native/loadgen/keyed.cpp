#include "loadgen/keyed.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace aferir::loadgen {

namespace {

constexpr std::size_t kLongestKey = 250;
/// Bytes of the longest line that is accepted: a key and the words around it.
constexpr std::size_t kLongestLine = 512;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kLineEnd = 2;

}  // namespace

std::optional<Target> parse_keys_url(std::string_view scheme, std::string_view url) {
    if (!url.starts_with(scheme)) {
        return std::nullopt;
    }
    url.remove_prefix(scheme.size());
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

std::size_t keys_of(const Target& target) {
    return static_cast<std::size_t>(std::ranges::count(target.path, ',')) + 1;
}

void KeyedAnswer::feed(std::span<const char> bytes) {
    begun_ = begun_ || !bytes.empty();
    while (!bytes.empty() && state_ == Answer::State::kReading) {
        if (left_ > 0) {
            const auto some = std::min(static_cast<std::int64_t>(bytes.size()), left_);
            left_ -= some;
            bytes = bytes.subspan(static_cast<std::size_t>(some));
            if (left_ == 0) {
                value_ended();
            }
            continue;
        }
        take(bytes.front());
        bytes = bytes.subspan(1);
    }
    if (!bytes.empty() && state_ == Answer::State::kDone) {
        fail();
    }
}

void KeyedAnswer::end() {
    ended_ = true;
    if (state_ == Answer::State::kReading) {
        fail();
    }
}

void KeyedAnswer::skip_value(std::int64_t bytes) { left_ = bytes + kLineEnd; }

void KeyedAnswer::finish(int status) {
    status_ = status;
    state_ = Answer::State::kDone;
}

std::optional<std::int64_t> KeyedAnswer::length_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && value >= 0 && value <= kMostBytes ? std::optional(value) : std::nullopt;
}

void KeyedAnswer::take(char byte) {
    if (byte != '\n') {
        line_.push_back(byte);
        if (line_.size() > kLongestLine) {
            fail();
        }
        return;
    }
    if (!line_.ends_with('\r')) {
        fail();
        return;
    }
    line_.pop_back();
    const std::string line = std::move(line_);
    line_.clear();
    take_line(line);
}

}  // namespace aferir::loadgen
