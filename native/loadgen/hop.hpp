#pragma once

#include <memory>
#include <string>

#include "loadgen/http.hpp"

namespace aferir::loadgen {

/// Largest number of redirections of one request, as in browsers (Fetch standard, 4.5).
constexpr int kMostHops = 20;

/// Target to which a redirection has led a request.
struct Hop {
    Target target;
    std::string text;
    /// Whether a connection to the first request's host can be used.
    bool is_at_home = false;
    int count = 0;
};

constexpr bool redirects(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Next target after `asked`; nothing if the redirection is not understood. `home`: target of the
/// first request; `count`: number of this redirection.
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
