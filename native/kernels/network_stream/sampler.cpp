#include "network_stream/sampler.hpp"

#include <time.h>

#include <cmath>
#include <functional>

#include "common/json.hpp"

namespace aferir {
namespace {

template <typename Values, typename Text>
std::string array(const Values& values, const Text& text) {
    std::string all;
    for (const auto& value : values) {
        all += (all.empty() ? "" : ",") + text(value);
    }
    return "[" + all + "]";
}

std::string seconds(double value) {
    // Milliseconds are enough, and keep a line short that a guest has to send.
    const auto rounded = std::int64_t{std::llround(value * 1e3)};
    return std::to_string(rounded / 1000) + "." + std::to_string(1000 + rounded % 1000).substr(1);
}

}  // namespace

double monotonic_s() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Sampler::Sampler(double interval_s)
    : start_s_(monotonic_s()),
      interval_s_(interval_s),
      next_s_(start_s_ + interval_s),
      last_links_(read_links()) {
    for (const auto& [name, bytes] : last_links_) {
        links_[name];
    }
}

void Sampler::look(double now_s, std::int64_t bytes) {
    if (now_s < next_s_) {
        return;
    }
    auto links = read_links();
    for (auto& [name, samples] : links_) {
        const auto now = links[name];
        const auto before = last_links_[name];
        samples.push_back({now.received - before.received, now.sent - before.sent});
    }
    at_s_.push_back(now_s - start_s_);
    bytes_.push_back(bytes - last_bytes_);
    last_bytes_ = bytes;
    last_links_ = std::move(links);
    while (next_s_ <= now_s) {
        next_s_ += interval_s_;
    }
}

double Sampler::due_in(double now_s) const { return next_s_ > now_s ? next_s_ - now_s : 0; }

std::string Sampler::json() const {
    const auto whole = [](std::int64_t value) { return std::to_string(value); };
    const auto one_way = [&](std::int64_t LinkBytes::* field) {
        return array(links_, [&](const auto& link) {
            return array(link.second, [&](const LinkBytes& b) { return whole(b.*field); });
        });
    };
    return JsonObject()
        .raw("at_s", array(at_s_, seconds))
        .raw("interval_bytes", array(bytes_, whole))
        .raw("link_names", array(links_, [](const auto& link) { return "\"" + link.first + "\""; }))
        .raw("link_received", one_way(&LinkBytes::received))
        .raw("link_sent", one_way(&LinkBytes::sent))
        .str();
}

std::string counted_since(const Counters& before) {
    JsonObject counted;
    for (const auto& [name, value] : difference(before, read_counters())) {
        counted.integer(name, value);
    }
    return counted.str();
}

}  // namespace aferir
