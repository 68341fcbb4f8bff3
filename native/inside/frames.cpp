#include "inside/frames.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace aferir::inside {

namespace {

constexpr std::size_t kHead = 9;

std::uint64_t number(std::string_view bytes, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t at = size; at > 0; --at) {
        value = value << 8U | static_cast<unsigned char>(bytes[at - 1]);
    }
    return value;
}

void put(std::string& payload, std::uint64_t value, std::size_t size) {
    for (std::size_t at = 0; at < size; ++at) {
        payload.push_back(static_cast<char>(value >> (8U * at) & 0xFFU));
    }
}

}  // namespace

std::optional<Message> Reader::next() {
    if (buffer_.size() < kHead) {
        return std::nullopt;
    }
    const std::string_view all = buffer_;
    const std::size_t size = number(all, 4);
    if (buffer_.size() < kHead + size) {
        return std::nullopt;
    }
    Message message{static_cast<Kind>(buffer_[4]),
                    static_cast<std::uint32_t>(number(all.substr(5), 4)),
                    buffer_.substr(kHead, size)};
    buffer_.erase(0, kHead + size);
    return message;
}

std::string encoded(const Message& message) {
    std::string bytes;
    put(bytes, message.payload.size(), 4);
    bytes.push_back(static_cast<char>(message.kind));
    put(bytes, message.task, 4);
    return bytes + message.payload;
}

std::uint32_t take_u32(std::string_view& payload) {
    if (payload.size() < 4) {
        payload = {};
        return 0;
    }
    const auto value = static_cast<std::uint32_t>(number(payload, 4));
    payload.remove_prefix(4);
    return value;
}

void put_u32(std::string& payload, std::uint32_t value) { put(payload, value, 4); }

void put_u64(std::string& payload, std::uint64_t value) { put(payload, value, 8); }

bool write_all(int handle, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(handle, bytes.data(), bytes.size());
        if (written > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd waiting{handle, POLLOUT, 0};
            poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace aferir::inside
