#include "loadgen/answer.hpp"

#include <algorithm>

namespace aferir::loadgen {

namespace {

/// Digits of a chunk's size: 2^52 bytes are more than anybody sends.
constexpr int kMostDigits = 13;

int hexadecimal(char byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    const char lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

void Answer::feed(std::span<const char> bytes) {
    begun_ = begun_ || !bytes.empty();
    // An interim response may come together with the one proper.
    while (!bytes.empty() && part_ == Part::kHead && state_ == State::kReading) {
        bytes = bytes.subspan(head_.feed(bytes));
        if (head_.state() == ResponseHead::State::kBroken) {
            fail();
        } else if (head_.state() == ResponseHead::State::kDone) {
            begin_body();
        }
    }
    while (!bytes.empty() && state_ == State::kReading) {
        if (part_ == Part::kToEnd) {
            return;
        }
        if (part_ == Part::kLength || part_ == Part::kChunk) {
            const auto some = std::min(static_cast<std::int64_t>(bytes.size()), left_);
            left_ -= some;
            bytes = bytes.subspan(static_cast<std::size_t>(some));
            if (left_ == 0) {
                part_ == Part::kLength ? finish() : static_cast<void>(part_ = Part::kChunkEnd);
            }
            continue;
        }
        take(bytes.front());
        bytes = bytes.subspan(1);
    }
    if (!bytes.empty() && state_ == State::kDone) {
        fail();
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
        head_ = ResponseHead(true);  // interim; the response proper follows
    } else if (status == 204 || status == 304) {
        finish();
    } else if (head_.chunked()) {
        part_ = Part::kSize;
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

void Answer::take(char byte) {
    switch (part_) {
        case Part::kSize:
            take_size(byte);
            break;
        case Part::kExtension:
            if (byte == '\n') {
                after_size();
            }
            break;
        case Part::kChunkEnd:
            if (byte == '\n') {
                part_ = Part::kSize;
                digits_ = 0;
            } else if (byte != '\r') {
                fail();
            }
            break;
        case Part::kTrailer:
            if (byte == '\n') {
                line_ == 0 ? finish() : static_cast<void>(line_ = 0);
            } else if (byte != '\r') {
                ++line_;
            }
            break;
        default:
            fail();
    }
}

void Answer::take_size(char byte) {
    const int digit = hexadecimal(byte);
    if (digit >= 0 && digits_ < kMostDigits) {
        left_ = left_ * 16 + digit;
        ++digits_;
    } else if (digits_ > 0 && byte == '\n') {
        after_size();
    } else if (digits_ > 0 && (byte == ';' || byte == '\r' || byte == ' ' || byte == '\t')) {
        part_ = Part::kExtension;
    } else {
        fail();
    }
}

void Answer::after_size() {
    line_ = 0;
    part_ = left_ == 0 ? Part::kTrailer : Part::kChunk;
}

}  // namespace aferir::loadgen
