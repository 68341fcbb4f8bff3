// What a viewer of a video in segments does: fetches the manifest, then part after part.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "loadgen/client.hpp"
#include "loadgen/manifest.hpp"

namespace aferir::loadgen {

namespace {

/// Parts of a second in which playback is counted.
constexpr double kPartsPerSecond = 1e6;
constexpr std::int64_t kMostManifest = 1 << 20;

std::int64_t parts(double seconds) { return std::llround(seconds * kPartsPerSecond); }

}  // namespace

void Client::begin_part(std::span<const char> body, Nanoseconds at, Nanoseconds now) {
    const std::optional<std::int64_t> length = head_.content_length();
    if (!length || (!segments_ && *length > kMostManifest)) {
        end(Outcome::kFailed, "a manifest or a segment without a possible length", now);
        return;
    }
    size_ = *length;
    const auto came = static_cast<std::int64_t>(body.size());
    left_ = size_ - came;
    came_ += segments_ ? came : 0;
    text_.append(body.data(), segments_ ? 0 : body.size());
    state_ = State::kStream;
    if (left_ > 0) {
        read_part(now);
    } else {
        after_part(at, now);
    }
}

void Client::read_part(Nanoseconds now) {
    Received got;
    if (segments_) {
        got = discard(socket_);
    } else {
        std::array<char, 4096> buffer;
        got = receive(socket_, buffer);
        text_.append(buffer.data(), static_cast<std::size_t>(got.bytes));
    }
    left_ -= got.bytes;
    came_ += segments_ ? got.bytes : 0;
    heard_ = got.bytes > 0 ? now : heard_;
    if (left_ <= 0) {
        after_part(got.at, now);
        return;
    }
    empty_ = now;
    if (got.ended) {
        end(Outcome::kFailed, "the video broke off", now);
    } else if (segments_) {
        // The last byte of a segment always wakes.
        const double often = segments_->rate() / 8.0 / kWakesPerSecond;
        wake_at(socket_, static_cast<int>(std::clamp(often, 1.0, static_cast<double>(left_))));
    }
}

void Client::after_part(Nanoseconds at, Nanoseconds now) {
    if (head_.closes() || left_ < 0) {
        socket_.close();
    }
    if (segments_) {
        take_segment(*segments_, at, now);
    } else {
        take_manifest(now);
    }
}

void Client::take_manifest(Nanoseconds now) {
    Manifest read;
    try {
        read = parse_manifest(text_);
    } catch (const ManifestError& error) {
        end(Outcome::kFailed, std::string("the manifest is not understood: ") + error.what(), now);
        return;
    }
    text_.clear();
    manifest_ = asked_;
    watch_end_ = watch_ > 0 ? now + watch_ : kNever;
    playback_ = Playback(kPartsPerSecond, std::max<std::int64_t>(1, parts(settings_->startup_s)),
                         parts(read.seconds));
    sent_ = true;
    fetch_next(segments_.emplace(std::move(read), settings_->rule, settings_->most_buffer_s), now);
}

void Client::take_segment(Segments& segments, Nanoseconds at, Nanoseconds now) {
    segments.arrived(size_, static_cast<double>(at - asked_at_) * 1e-9);
    const bool played = playback_.playing();
    playback_.arrived(parts(segments.arrived_s()), at, empty_);
    if (!played && playback_.playing()) {
        began_with_s_ = playback_.buffered_s(at);
    }
    starving_ = false;
    if (segments.complete()) {
        gained_s_ = playback_.buffered_s(at) - began_with_s_;
        end(Outcome::kServed, "", now);
    } else {
        fetch_next(segments, now);
    }
}

void Client::fetch_next(Segments& segments, Nanoseconds now) {
    if (const std::optional<Nanoseconds> due = playback_.deadline()) {
        wait_end_ = *due - std::llround(segments.room_s() * 1e9);
        if (wait_end_ > now) {
            state_ = State::kWait;
            return;
        }
    }
    const std::optional<Target> next =
        redirected(manifest_, segments.next(playback_.buffered_s(now)));
    if (!next) {
        end(Outcome::kFailed, "the manifest names a segment at no numeric http address", now);
        return;
    }
    asked_at_ = now;
    hops_ = 0;
    if (socket_.open()) {
        ask_again(*next, now);
    } else {
        ask(State::kAskNode, "GET", *next, now);
    }
}

/// Sends another request over the connection that is open.
void Client::ask_again(const Target& target, Nanoseconds now) {
    state_ = State::kAskNode;
    head_ = ResponseHead{};
    asked_ = target;
    heard_ = now;
    reused_ = true;
    out_ = request("GET", target, true);
    wake_at(socket_, 1);
}

/// A server may end a connection between two requests (RFC 9112, 9.3.1): then the latest is sent
/// again over a new one.
void Client::broken(std::string_view reason, Nanoseconds now) {
    if (reused_) {
        ask(State::kAskNode, "GET", Target(asked_), now);
    } else {
        end(Outcome::kFailed, reason, now);
    }
}

}  // namespace aferir::loadgen
