#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loadgen/url.hpp"

namespace aferir::loadgen {

/// A request in HTTP/1.1 without a body, with a user agent. It asks the server to close the
/// connection afterwards, unless `keeps`.
std::string request(std::string_view method, const Target& target, bool keeps = false);

/// The head of an HTTP/1.x response, read piece by piece as it arrives (RFC 9112): lines may end
/// with LF alone (2.2) and be continued (5.2).
class ResponseHead {
  public:
    static constexpr std::size_t kMostBytes = 262144;

    enum class State { kReading, kDone, kBroken };

    /// Reads the part of `bytes` that belongs to the head and returns its length; the rest is the
    /// body.
    std::size_t feed(std::span<const char> bytes);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int status() const { return status_; }
    /// Length of the body; nothing if the body is in chunks, or ends with the connection.
    [[nodiscard]] std::optional<std::int64_t> content_length() const {
        return encoded_ ? std::nullopt : content_length_;
    }
    [[nodiscard]] bool chunked() const { return chunked_; }
    /// Whether the server closes the connection after this response.
    [[nodiscard]] bool closes() const { return closes_; }
    [[nodiscard]] const std::string& location() const { return location_; }
    /// Path of the request by which this client leaves: the header `Aferir-Leave`.
    [[nodiscard]] const std::string& leave() const { return leave_; }

  private:
    void parse();
    bool parse_status(std::string_view line);
    bool parse_field(std::string_view line);
    bool take_length(std::string_view value);
    void take_encoding(std::string_view value);
    void take_connection(std::string_view options);

    State state_ = State::kReading;
    bool chunked_ = false;
    bool encoded_ = false;
    bool closes_ = false;
    bool says_close_ = false;
    std::string text_;
    int status_ = 0;
    std::optional<std::int64_t> content_length_;
    std::string location_;
    std::string leave_;
};

}  // namespace aferir::loadgen
