#include "loadgen/answer.hpp"

#include <algorithm>

namespace aferir::loadgen {

void Answer::feed(std::span<const char> bytes) {
    begun_ = begun_ || !bytes.empty();
    // An interim response may arrive together with the final one.
    while (!bytes.empty() && part_ == Part::kHead && state_ == State::kReading) {
        bytes = bytes.subspan(head_.feed(bytes));
        if (head_.state() == ResponseHead::State::kBroken) {
            fail();
        } else if (head_.state() == ResponseHead::State::kDone) {
            begin_body();
        }
    }
    if (state_ == State::kReading) {
        take_body(bytes);
    }
    if (!bytes.empty() && state_ == State::kDone) {
        fail();
    }
}

void Answer::take_body(std::span<const char>& bytes) {
    if (part_ == Part::kChunks) {
        chunks_.feed(bytes);
        if (chunks_.state() != Chunks::State::kReading) {
            chunks_.state() == Chunks::State::kDone ? finish() : fail();
        }
    } else if (part_ == Part::kLength) {
        const auto some = std::min(static_cast<std::int64_t>(bytes.size()), left_);
        left_ -= some;
        bytes = bytes.subspan(static_cast<std::size_t>(some));
        if (left_ == 0) {
            finish();
        }
    }
}

void Answer::end() {
    if (state_ == State::kReading) {
        part_ == Part::kToEnd ? finish() : fail();
    }
    keeps_ = false;
}

void Answer::begin_body() {
    keeps_ = !head_.closes();
    const int status = head_.status();
    if (status < 200) {
        head_ = ResponseHead();  // interim; the response proper follows
    } else if (status == 204 || status == 304) {
        finish();
    } else if (head_.chunked()) {
        part_ = Part::kChunks;
    } else if (head_.content_length()) {
        left_ = *head_.content_length();
        part_ = Part::kLength;
        if (left_ == 0) {
            finish();
        }
    } else {
        part_ = Part::kToEnd;
    }
}

}  // namespace aferir::loadgen
