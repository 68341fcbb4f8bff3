#pragma once

#include <memory>
#include <string>

#include "loadgen/http.hpp"

namespace aferir::loadgen {

/// As many redirections of one request as browsers follow (Fetch standard, 4.5).
constexpr int kMostHops = 20;

/// Where a redirection has led a request.
struct Hop {
    Target target;
    std::string text;
    /// Whether a connection to the first host serves.
    bool is_at_home = false;
    int count = 0;
};

constexpr bool redirects(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// The next one after `asked`; nothing where it leads to what is not understood. `home`: where the
/// first request went; `count`: which redirection it is.
inline std::shared_ptr<const Hop> next_hop(const Target& home, const Target& asked,
                                           const std::string& location, int count) {
    const std::optional<Target> target = redirected(asked, location);
    if (!target) {
        return nullptr;
    }
    return std::make_shared<const Hop>(
        Hop{*target, request("GET", *target, true), target->host == home.host, count});
}

}  // namespace aferir::loadgen
