#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace aferir::loadgen {

/// Where a request goes: `http://ADDRESS[:PORT]/PATH`, with a numeric address.
struct Target {
    sockaddr_storage address{};
    socklen_t length = 0;
    std::string host;
    std::string path;
};

/// Nothing where the text is no such URL; names are not looked up.
std::optional<Target> parse_url(std::string_view url);

/// The same at another numeric address of the host; nothing where it is none.
std::optional<Target> at_address(const Target& target, const std::string& address);

/// Where a redirection leads that was answered for `base` (RFC 3986, 5.2): `location` may be
/// relative to it, or name its host as `base.host` does. Nothing for other names and schemes.
std::optional<Target> redirected(const Target& base, std::string_view location);

}  // namespace aferir::loadgen
