#include "loadgen/client.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "loadgen/hop.hpp"

namespace aferir::loadgen {

namespace {

/// Stands for an unknown size of a video.
constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

void Client::start(Nanoseconds now) { ask(State::kAskFront, "GET", settings_->start, now); }

void Client::ask(State state, std::string_view method, const Target& target, Nanoseconds now) {
    state_ = state;
    head_ = ResponseHead{};
    asked_ = target;
    heard_ = now;
    reused_ = false;
    out_ = request(method, target, settings_->rule != nullptr && state == State::kAskNode);
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
    if (state_ == State::kWait) {
        socket_.close();  // nothing is due, so that the server has ended the connection
        return;
    }
    if (!out_.empty() && !send_some(socket_, out_)) {
        broken("the connection was refused or reset", now);
        return;
    }
    if (state_ == State::kStream && settings_->rule != nullptr) {
        read_part(now);
    } else if (state_ == State::kStream) {
        read_stream(now);
    } else {
        read_head(now);
    }
}

void Client::read_head(Nanoseconds now) {
    std::array<char, 4096> buffer;
    const Received got = receive(socket_, buffer);
    std::span<const char> bytes = std::span(buffer).first(static_cast<std::size_t>(got.bytes));
    while (true) {
        bytes = bytes.subspan(head_.feed(bytes));
        if (head_.state() != ResponseHead::State::kDone || head_.status() >= 200) {
            break;
        }
        head_ = ResponseHead{};  // interim; the response proper follows
    }
    if (head_.state() == ResponseHead::State::kDone) {
        answered(now, bytes, got.at);
    } else if (head_.state() == ResponseHead::State::kBroken) {
        end(Outcome::kFailed, "the answer is no HTTP that a video comes in", now);
    } else if (got.ended) {
        broken("the connection ended before the answer", now);
    }
}

void Client::answered(Nanoseconds now, std::span<const char> body, Nanoseconds at) {
    const int status = head_.status();
    if (state_ == State::kLeave) {
        left_unheard_ = status >= 300;
        state_ = State::kDone;
        socket_.close();
    } else if (status == 503) {
        end(Outcome::kBlocked, "Front had no place within the patience", now);
    } else if (status == 200 && head_.content_length() == 0) {
        end(Outcome::kFailed, "the video is empty", now);
    } else if (status == 200 && settings_->rule != nullptr) {
        begin_part(body, at, now);
    } else if (status == 200) {
        begin_stream(body, at, now);
    } else if (redirects(status)) {
        follow(now);
    } else {
        end(Outcome::kFailed, "the server answered with status " + std::to_string(status), now);
    }
}

void Client::follow(Nanoseconds now) {
    if (state_ == State::kAskFront) {
        leave_path_ = head_.leave();
    }
    const std::optional<Target> node = redirected(asked_, head_.location());
    if (!node) {
        end(Outcome::kFailed, "redirected to no numeric http address: " + head_.location(), now);
    } else if (++hops_ > kMostHops) {
        end(Outcome::kFailed, "redirected more than " + std::to_string(kMostHops) + " times", now);
    } else {
        ask(State::kAskNode, "GET", *node, now);
    }
}

void Client::begin_stream(std::span<const char> body, Nanoseconds at, Nanoseconds now) {
    const double rate = settings_->bytes_per_second;
    const auto startup = std::max<std::int64_t>(1, std::llround(rate * settings_->startup_s));
    const std::optional<std::int64_t> length = head_.content_length();
    playback_ = Playback(rate, startup, length.value_or(kEndless));
    to_end_ = !length && !head_.chunked();
    chunks_ = head_.chunked() ? std::optional<Chunks>(Chunks{}) : std::nullopt;
    sent_ = true;
    state_ = State::kStream;
    watch_end_ = watch_ > 0 ? now + watch_ : kNever;
    empty_ = now;
    starving_ =
        true;  // a new socket wakes us at the first byte, which is right until playing begins
    const auto came = static_cast<std::int64_t>(body.size());
    playback_.arrived(chunks_ ? chunks_->feed(body) : came, at, empty_);
    read_stream(now);
}

void Client::read_stream(Nanoseconds now) {
    if (chunks_) {
        read_chunks(*chunks_, now);
        return;
    }
    const Received got = discard(socket_);
    take(got.bytes, got.at, now);
    if (got.ended && to_end_) {
        playback_.ends(now);
    }
    after_stream(got.ended, now);
}

/// Reads the content instead of having the kernel discard it, as the chunks' sizes lie in between.
void Client::read_chunks(Chunks& chunks, Nanoseconds now) {
    std::array<char, 65536> buffer;
    Received got;
    do {
        got = receive(socket_, buffer);
        std::span<const char> bytes = std::span(buffer).first(static_cast<std::size_t>(got.bytes));
        take(chunks.feed(bytes), got.at, now);
    } while (got.bytes == static_cast<std::int64_t>(buffer.size()) &&
             chunks.state() == Chunks::State::kReading);
    if (chunks.state() == Chunks::State::kDone) {
        playback_.ends(now);
    }
    after_stream(got.ended || chunks.state() == Chunks::State::kBroken, now);
}

void Client::take(std::int64_t bytes, Nanoseconds at, Nanoseconds now) {
    if (bytes > 0) {
        heard_ = now;
        playback_.arrived(playback_.received() + bytes, at, empty_);
        starve(!playback_.playing());
    }
}

void Client::after_stream(bool ended, Nanoseconds now) {
    empty_ = now;
    if (playback_.complete() && playback_.received() > 0) {
        end(Outcome::kServed, "", now);
    } else if (playback_.complete()) {
        end(Outcome::kFailed, "the video is empty", now);
    } else if (ended) {
        end(Outcome::kFailed, "the video broke off", now);
    }
}

void Client::starve(bool starving) {
    if (starving == starving_) {
        return;
    }
    starving_ = starving;
    if (segments_) {
        return;
    }
    // The first byte after a silence must be noticed at once.
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
    if (streaming()) {
        if (state_ == State::kWait && segments_ && now < watch_end_) {
            fetch_next(*segments_, now);
            return;
        }
        look(now);
        if (!streaming()) {
            return;
        }
        empty_ = now;
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
    if (state_ == State::kWait) {
        return std::min(watch_end_, wait_end_);
    }
    if (!streaming()) {
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
    const std::int64_t so_far = received();
    return so_far - std::exchange(taken_, so_far);
}

}  // namespace aferir::loadgen
