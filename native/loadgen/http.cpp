#include "loadgen/http.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

namespace aferir::loadgen {

namespace {

constexpr std::string_view kScheme = "http://";
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

struct Parts {
    std::string host;
    std::optional<std::uint16_t> port;
    std::string path;
};

/// Of what follows the scheme of a URL; no port where it is none.
Parts parts_of(std::string_view url) {
    const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
    std::string_view authority = url.substr(0, end);
    std::string_view path = url.substr(end);
    path = path.substr(0, path.find('#'));
    Parts parts{{}, 80, path.starts_with('/') ? std::string(path) : "/" + std::string(path)};
    if (authority.starts_with('[')) {
        const std::size_t close = authority.find(']');
        if (close == std::string_view::npos) {
            return {};
        }
        parts.host = authority.substr(1, close - 1);
        authority.remove_prefix(close + 1);
    } else {
        parts.host = authority.substr(0, authority.find(':'));
        authority.remove_prefix(parts.host.size());
    }
    if (!authority.empty() && authority != ":") {
        parts.port =
            authority.front() == ':' ? number<std::uint16_t>(authority.substr(1)) : std::nullopt;
    }
    return parts;
}

/// As the field Host has it: without the port that is meant anyway (RFC 9110, 4.2.3).
std::string named(const std::string& host, std::uint16_t port) {
    const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == 80 ? name : name + ":" + std::to_string(port);
}

void set_port(Target& target, std::uint16_t port) {
    // Of either family it is at the same place (netinet/in.h).
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    sockaddr_in place{};
    std::memcpy(&place, &target.address, sizeof place);
    place.sin_port = htons(port);
    std::memcpy(&target.address, &place, sizeof place);
}

/// A URL of the host that `base` names, where it is none by number.
std::optional<Target> of_same_name(const Target& base, std::string_view url) {
    if (!same_word(url.substr(0, kScheme.size()), kScheme)) {
        return std::nullopt;
    }
    const Parts parts = parts_of(url.substr(kScheme.size()));
    if (!parts.port || !same_word(parts.host, parts_of(base.host).host)) {
        return std::nullopt;
    }
    Target target = base;
    set_port(target, *parts.port);
    target.host = named(parts.host, *parts.port);
    target.path = parts.path;
    return target;
}

/// A path without the segments `.` and `..` (RFC 3986, 5.2.4); what it asks for is as it was.
std::string without_dots(std::string_view text) {
    const std::size_t end = std::min(text.find('?'), text.size());
    std::string_view rest = text.substr(0, end);
    std::string path;
    while (!rest.empty()) {
        const std::size_t next = std::min(rest.find('/', 1), rest.size());
        const std::string_view segment = rest.substr(0, next);
        rest.remove_prefix(next);
        const bool up = segment == "/..";
        if (up) {
            path.resize(path.empty() ? 0 : path.rfind('/'));
        } else if (segment != "/.") {
            path.append(segment);
        }
        if (rest.empty() && (up || segment == "/.")) {
            path.append("/");
        }
    }
    return path.append(text.substr(end));
}

/// Where the first empty line begins at or after `from` and how long it is, counted after the end
/// of the line before it; npos where there is none.
std::pair<std::size_t, std::size_t> empty_line(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find('\n', from); at != std::string_view::npos;
         at = text.find('\n', at + 1)) {
        const std::string_view after = text.substr(at + 1, 2);
        if (after.starts_with('\n')) {
            return {at + 1, 1};
        }
        if (after == "\r\n") {
            return {at + 1, 2};
        }
    }
    return {std::string_view::npos, 0};
}

/// The next line, with those that continue it after a blank; `rest` begins after them.
std::string take_line(std::string_view& rest) {
    std::string line;
    do {
        const std::size_t end = rest.find('\n');
        std::string_view part = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (part.ends_with('\r')) {
            part.remove_suffix(1);
        }
        line.append(part);
    } while (!rest.empty() && kBlanks.find(rest.front()) != std::string_view::npos);
    return line;
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
    const auto [host, port, path] = parts_of(url);
    Target target;
    if (!port || !set_address(target, host, *port)) {
        return std::nullopt;
    }
    target.host = named(host, *port);
    target.path = path;
    return target;
}

std::optional<Target> at_address(const Target& target, const std::string& address) {
    Target other = target;
    sockaddr_in place{};
    std::memcpy(&place, &target.address, sizeof place);
    return set_address(other, address, ntohs(place.sin_port)) ? std::optional(other) : std::nullopt;
}

std::optional<Target> redirected(const Target& base, std::string_view location) {
    location = location.substr(0, location.find('#'));
    if (location.empty() || !printable(location)) {
        return std::nullopt;
    }
    if (location.starts_with("//")) {
        return redirected(base, std::string("http:").append(location));
    }
    const std::size_t colon = location.find(':');
    if (colon != std::string_view::npos && colon < location.find_first_of("/?")) {
        return parse_url(location) ? parse_url(location) : of_same_name(base, location);
    }
    Target target = base;
    const std::string_view path = std::string_view(base.path).substr(0, base.path.find('?'));
    if (location.front() == '?') {
        target.path = std::string(path).append(location);
    } else if (location.front() == '/') {
        target.path = without_dots(location);
    } else {
        const std::string_view folder = path.substr(0, path.rfind('/') + 1);
        target.path = without_dots(std::string(folder).append(location));
    }
    return target;
}

std::string request(std::string_view method, const Target& target, bool keeps) {
    std::string text;
    text.append(method).append(" ").append(target.path).append(" HTTP/1.1\r\nHost: ");
    text.append(target.host).append("\r\nUser-Agent: aferir\r\nAccept: */*\r\n");
    text.append(keeps ? "" : "Connection: close\r\n");
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
    const auto [end, length] = empty_line(text_, before < 2 ? 0 : before - 2);
    if (end == std::string::npos) {
        if (text_.size() >= kMostBytes) {
            state_ = State::kBroken;
        }
        return text_.size() - before;
    }
    text_.resize(end);
    parse();
    return end + length - before;
}

void ResponseHead::parse() {
    std::string_view rest = text_;
    bool first = true;
    while (!rest.empty()) {
        const std::string line = take_line(rest);
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
    const std::string_view name = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_word(name, "content-length")) {
        return take_length(value);
    }
    if (same_word(name, "transfer-encoding")) {
        take_encoding(value);
    } else if (same_word(name, "connection")) {
        take_connection(value);
    } else if (same_word(name, "location")) {
        location_ = value;
    } else if (same_word(name, "aferir-leave")) {
        leave_ = value;
    }
    return true;
}

/// One number, or the same one several times (RFC 9110, 8.6).
bool ResponseHead::take_length(std::string_view value) {
    while (true) {
        const std::size_t comma = std::min(value.find(','), value.size());
        const std::optional<std::int64_t> length =
            number<std::int64_t>(trimmed(value.substr(0, comma)));
        if (!length || *length < 0 || (content_length_ && *content_length_ != *length)) {
            return false;
        }
        content_length_ = length;
        if (comma == value.size()) {
            return true;
        }
        value.remove_prefix(comma + 1);
    }
}

/// The last coding decides (RFC 9112, 6.3); any other than `chunked` goes to the end of the
/// connection, whatever a Content-Length says.
void ResponseHead::take_encoding(std::string_view value) {
    const std::size_t comma = value.rfind(',');
    const std::size_t last = comma == std::string_view::npos ? 0 : comma + 1;
    chunked_ = same_word(trimmed(value.substr(last)), "chunked");
    encoded_ = encoded_ || !same_word(value, "identity");
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
