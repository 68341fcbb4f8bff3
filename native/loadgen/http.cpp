#include "loadgen/http.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace aferir::loadgen {

namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kBlanks = " \t";

template <typename Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

bool same_word(std::string_view one, std::string_view other) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::ranges::equal(one, other, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool set_address(Target& target, const std::string& host, std::uint16_t port) {
    sockaddr_in v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&target.address, &v4, sizeof v4);
        target.length = sizeof v4;
        return true;
    }
    sockaddr_in6 v6{};
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        std::memcpy(&target.address, &v6, sizeof v6);
        target.length = sizeof v6;
        return true;
    }
    return false;
}

/// Characters that would end a request line, or begin another, are in no URL.
bool printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::optional<Target> parse_url(std::string_view url) {
    if (!url.starts_with(kScheme) || !printable(url)) {
        return std::nullopt;
    }
    url.remove_prefix(kScheme.size());
    const std::size_t slash = std::min(url.find('/'), url.size());
    Target target;
    target.host = url.substr(0, slash);
    target.path = slash < url.size() ? url.substr(slash) : "/";
    std::string_view authority = target.host;
    std::string_view host;
    if (authority.starts_with('[')) {
        const std::size_t close = authority.find(']');
        if (close == std::string_view::npos) {
            return std::nullopt;
        }
        host = authority.substr(1, close - 1);
        authority.remove_prefix(close + 1);
    } else {
        host = authority.substr(0, authority.find(':'));
        authority.remove_prefix(host.size());
    }
    std::optional<std::uint16_t> port = 80;
    if (!authority.empty()) {
        port = authority.front() == ':' ? number<std::uint16_t>(authority.substr(1)) : std::nullopt;
    }
    if (!port || !set_address(target, std::string(host), *port)) {
        return std::nullopt;
    }
    return target;
}

std::string request(std::string_view method, const Target& target, bool keeps) {
    std::string text;
    text.append(method).append(" ").append(target.path).append(" HTTP/1.1\r\nHost: ");
    text.append(target.host).append(keeps ? "\r\n" : "\r\nConnection: close\r\n");
    if (method != "GET") {
        text.append("Content-Length: 0\r\n");
    }
    return text.append("\r\n");
}

std::size_t ResponseHead::feed(std::span<const char> bytes) {
    if (state_ != State::kReading) {
        return 0;
    }
    const std::size_t before = text_.size();
    text_.append(bytes.data(), std::min(bytes.size(), kMostBytes - before));
    // The end may lie across two pieces.
    const std::size_t from = before < kEnd.size() ? 0 : before - kEnd.size() + 1;
    const std::size_t end = text_.find(kEnd, from);
    if (end == std::string::npos) {
        if (text_.size() >= kMostBytes) {
            state_ = State::kBroken;
        }
        return text_.size() - before;
    }
    text_.resize(end + 2);
    parse();
    return end + kEnd.size() - before;
}

void ResponseHead::parse() {
    std::string_view rest = text_;
    bool first = true;
    while (!rest.empty()) {
        const std::size_t end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 2);
        if (!(first ? parse_status(line) : parse_field(line))) {
            state_ = State::kBroken;
            return;
        }
        first = false;
    }
    state_ = first ? State::kBroken : State::kDone;
}

bool ResponseHead::parse_status(std::string_view line) {
    // "HTTP/1.1 200 OK"; the reason may be missing.
    if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') {
        return false;
    }
    const std::optional<int> status = number<int>(line.substr(9, 3));
    if (!status || *status < 100 || *status > 599 || (line.size() > 12 && line[12] != ' ')) {
        return false;
    }
    status_ = *status;
    closes_ = line[7] == '0';
    return true;
}

bool ResponseHead::parse_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
        return false;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_word(name, "content-length")) {
        const std::optional<std::int64_t> length = number<std::int64_t>(value);
        if (!length || *length < 0 || (content_length_ && *content_length_ != *length)) {
            return false;
        }
        content_length_ = length;
    } else if (same_word(name, "transfer-encoding")) {
        chunked_ = same_word(value, "chunked");
        return chunks_ && chunked_;
    } else if (same_word(name, "connection")) {
        take_connection(value);
    } else if (same_word(name, "location")) {
        location_ = value;
    } else if (same_word(name, "aferir-leave")) {
        leave_ = value;
    }
    return true;
}

/// Options of the connection, in a list (RFC 9110, 7.6.1): "close" is one among others.
void ResponseHead::take_connection(std::string_view options) {
    while (true) {
        const std::size_t comma = std::min(options.find(','), options.size());
        const std::string_view option = trimmed(options.substr(0, comma));
        if (same_word(option, "close")) {
            closes_ = says_close_ = true;
        } else if (same_word(option, "keep-alive") && !says_close_) {
            closes_ = false;  // of HTTP/1.0
        }
        if (comma == options.size()) {
            return;
        }
        options.remove_prefix(comma + 1);
    }
}

}  // namespace aferir::loadgen
