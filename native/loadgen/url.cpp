#include "loadgen/url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "loadgen/text.hpp"

namespace aferir::loadgen {

namespace {

constexpr std::string_view kScheme = "http://";

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

/// Host, port and path of what follows the scheme of a URL; no port if it is not a number.
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

/// Host and port for the header Host: without the default port (RFC 9110, 4.2.3).
std::string named(const std::string& host, std::uint16_t port) {
    const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == 80 ? name : name + ":" + std::to_string(port);
}

void set_port(Target& target, std::uint16_t port) {
    // The port is at the same place in addresses of both families (netinet/in.h).
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    sockaddr_in place{};
    std::memcpy(&place, &target.address, sizeof place);
    place.sin_port = htons(port);
    std::memcpy(&target.address, &place, sizeof place);
}

/// Parses a URL that has the host name of `base`; nothing for another name, or if that is a numeric
/// address.
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

/// A path without the segments `.` and `..` (RFC 3986, 5.2.4); the query is unchanged.
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

}  // namespace aferir::loadgen
