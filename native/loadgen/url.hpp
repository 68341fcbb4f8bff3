#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace aferir::loadgen {

/// Target of a request: `http://ADDRESS[:PORT]/PATH`, with a numeric address.
struct Target {
    sockaddr_storage address{};
    socklen_t length = 0;
    std::string host;
    std::string path;
};

/// Parses such a URL; nothing if the text is not one. Names are not looked up.
std::optional<Target> parse_url(std::string_view url);

/// The same target at another numeric address of the host; nothing if it is not numeric.
std::optional<Target> at_address(const Target& target, const std::string& address);

/// Target of a redirection in an answer to `base` (RFC 3986, 5.2): `location` may be relative to
/// it, or contain the host's name `base.host`. Nothing for other names and schemes.
std::optional<Target> redirected(const Target& base, std::string_view location);

}  // namespace aferir::loadgen
