#include "loadgen/client.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace aferir::loadgen {

namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
/// The socket wakes us four times a second of video: often enough for the buffers, seldom enough
/// for thousands of streams.
constexpr double kWakesPerSecond = 4.0;

}  // namespace

void Client::start(Nanoseconds now) { ask(State::kAskFront, "GET", settings_->start, now); }

void Client::ask(State state, std::string_view method, const Target& target, Nanoseconds now) {
    state_ = state;
    head_ = ResponseHead{};
    heard_ = now;
    out_ = request(method, target);
    socket_ = connect_to(target);
    fresh_ = true;
    if (!socket_.open()) {
        end(Outcome::kFailed, std::strerror(errno), now);
    }
}

void Client::look(Nanoseconds now) {
    if (state_ == State::kIdle || state_ == State::kDone) {
        return;
    }
    if (!out_.empty() && !send_some(socket_, out_)) {
        end(Outcome::kFailed, "the connection was refused or reset", now);
        return;
    }
    if (state_ == State::kStream) {
        read_stream(now);
    } else {
        read_head(now);
    }
}

void Client::read_head(Nanoseconds now) {
    std::array<char, 4096> buffer;
    const Received got = receive(socket_, buffer);
    const auto bytes = static_cast<std::size_t>(got.bytes);
    const std::size_t taken = head_.feed(std::span(buffer).first(bytes));
    if (head_.state() == ResponseHead::State::kDone) {
        answered(now, static_cast<std::int64_t>(bytes - taken), got.at);
    } else if (head_.state() == ResponseHead::State::kBroken) {
        end(Outcome::kFailed, "the answer is no HTTP that a video comes in", now);
    } else if (got.ended) {
        end(Outcome::kFailed, "the connection ended before the answer", now);
    }
}

void Client::answered(Nanoseconds now, std::int64_t body, Nanoseconds at) {
    const int status = head_.status();
    const std::int64_t length = head_.content_length().value_or(0);
    if (state_ == State::kLeave) {
        left_unheard_ = status >= 300;
        state_ = State::kDone;
        socket_.close();
    } else if (status == 503) {
        end(Outcome::kBlocked, "Front had no place within the patience", now);
    } else if (status == 200 && length > 0) {
        begin_stream(length, body, at, now);
    } else if (state_ == State::kAskFront && status >= 300 && status < 400) {
        redirected(now);
    } else {
        end(Outcome::kFailed, "the server answered with status " + std::to_string(status), now);
    }
}

void Client::redirected(Nanoseconds now) {
    leave_path_ = head_.leave();
    const std::optional<Target> node = parse_url(head_.location());
    if (!node) {
        end(Outcome::kFailed, "Front redirected to no numeric http address", now);
        return;
    }
    ask(State::kAskNode, "GET", *node, now);
}

void Client::begin_stream(std::int64_t length, std::int64_t body, Nanoseconds at, Nanoseconds now) {
    const double rate = settings_->bytes_per_second;
    const auto startup = std::max<std::int64_t>(1, std::llround(rate * settings_->startup_s));
    playback_ = Playback(rate, startup, length);
    sent_ = true;
    state_ = State::kStream;
    watch_end_ = watch_ > 0 ? now + watch_ : kNever;
    empty_ = now;
    playback_.arrived(body, at, empty_);
    starving_ =
        true;  // a new socket wakes us at the first byte, which is right until playing begins
    read_stream(now);
}

void Client::read_stream(Nanoseconds now) {
    const Received got = discard(socket_);
    if (got.bytes > 0) {
        heard_ = now;
        playback_.arrived(playback_.received() + got.bytes, got.at, empty_);
        starve(!playback_.playing());
    }
    empty_ = now;
    if (playback_.complete()) {
        end(Outcome::kServed, "", now);
    } else if (got.ended) {
        end(Outcome::kFailed, "the video broke off", now);
    }
}

void Client::starve(bool starving) {
    if (starving == starving_) {
        return;
    }
    starving_ = starving;
    // The first byte after a silence is to be seen at once.
    const double bytes = starving ? 1.0 : settings_->bytes_per_second / kWakesPerSecond;
    wake_at(socket_, std::max(1, static_cast<int>(bytes)));
}

void Client::ring(Nanoseconds now) {
    if (alarm() > now) {
        return;
    }
    if (state_ == State::kAskFront && now >= patience_end()) {
        end(Outcome::kBlocked, "Front did not answer within the patience", now);
        return;
    }
    if (state_ == State::kStream) {
        read_stream(now);
        if (state_ != State::kStream) {
            return;
        }
        if (now >= watch_end_) {
            end(Outcome::kAbandoned, "", now);
            return;
        }
        const std::optional<Nanoseconds> due = playback_.deadline();
        if (due && *due <= now) {
            starve(true);
        }
    }
    if (now >= heard_ + settings_->silence) {
        end(Outcome::kFailed, "the server has fallen silent", now);
    }
}

Nanoseconds Client::alarm() const {
    if (state_ == State::kIdle || state_ == State::kDone) {
        return kNever;
    }
    const Nanoseconds silence = heard_ + settings_->silence;
    if (state_ == State::kAskFront) {
        return patience_end();
    }
    if (state_ != State::kStream) {
        return silence;
    }
    const Nanoseconds due = starving_ ? kNever : playback_.deadline().value_or(kNever);
    return std::min({silence, watch_end_, due});
}

void Client::end(Outcome outcome, std::string_view reason, Nanoseconds now) {
    socket_.close();
    out_.clear();
    if (state_ == State::kLeave) {
        left_unheard_ = true;
        state_ = State::kDone;
        return;
    }
    outcome_ = outcome;
    reason_ = reason;
    if (leave_path_.empty()) {
        state_ = State::kDone;
        return;
    }
    Target front = settings_->start;
    front.path = leave_path_;
    front.path += front.path.find('?') == std::string::npos ? "?outcome=" : "&outcome=";
    front.path += outcome_name(outcome);
    leave_path_.clear();
    ask(State::kLeave, "DELETE", front, now);
}

std::optional<Nanoseconds> Client::startup() const {
    const std::optional<Nanoseconds> began = playback_.began();
    if (!began) {
        return std::nullopt;
    }
    return *began - intended_;
}

std::int64_t Client::take_bytes() {
    const std::int64_t received = playback_.received();
    return received - std::exchange(taken_, received);
}

}  // namespace aferir::loadgen
