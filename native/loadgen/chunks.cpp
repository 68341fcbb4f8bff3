#include "loadgen/chunks.hpp"

#include <algorithm>

namespace aferir::loadgen {

namespace {

/// Hexadecimal digits permitted in a chunk's size: 2^52 bytes are more than anybody sends.
constexpr int kMostDigits = 13;

int hexadecimal(char byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    const char lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::int64_t Chunks::feed(std::span<const char>& bytes) {
    std::int64_t content = 0;
    while (!bytes.empty() && state_ == State::kReading) {
        if (part_ != Part::kContent) {
            take(bytes.front());
            bytes = bytes.subspan(1);
            continue;
        }
        const auto some = std::min(static_cast<std::int64_t>(bytes.size()), left_);
        left_ -= some;
        content += some;
        bytes = bytes.subspan(static_cast<std::size_t>(some));
        if (left_ == 0) {
            part_ = Part::kEnd;
        }
    }
    return content;
}

void Chunks::take(char byte) {
    switch (part_) {
        case Part::kSize:
            take_size(byte);
            break;
        case Part::kExtension:
            if (byte == '\n') {
                after_size();
            }
            break;
        case Part::kEnd:
            if (byte == '\n') {
                part_ = Part::kSize;
                digits_ = 0;
            } else if (byte != '\r') {
                state_ = State::kBroken;
            }
            break;
        case Part::kTrailer:
            if (byte == '\n' && line_is_empty_) {
                state_ = State::kDone;
            } else if (byte != '\r') {
                line_is_empty_ = byte == '\n';
            }
            break;
        case Part::kContent:
            state_ = State::kBroken;
    }
}

void Chunks::take_size(char byte) {
    const int digit = hexadecimal(byte);
    if (digit >= 0 && digits_ < kMostDigits) {
        left_ = left_ * 16 + digit;
        ++digits_;
    } else if (digits_ > 0 && byte == '\n') {
        after_size();
    } else if (digits_ > 0 && (byte == ';' || byte == '\r' || byte == ' ' || byte == '\t')) {
        part_ = Part::kExtension;
    } else {
        state_ = State::kBroken;
    }
}

void Chunks::after_size() {
    line_is_empty_ = true;
    part_ = left_ == 0 ? Part::kTrailer : Part::kContent;
}

}  // namespace aferir::loadgen
