#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aferir::loadgen {

/// Where a request goes: `http://ADDRESS[:PORT]/PATH`, with a numeric address.
struct Target {
    sockaddr_storage address{};
    socklen_t length = 0;
    std::string host;
    std::string path;
};

/// Nothing where the text is no such URL; names are not looked up.
std::optional<Target> parse_url(std::string_view url);

/// A request without body, in HTTP/1.1, after which the server closes the connection, unless it
/// `keeps` it.
std::string request(std::string_view method, const Target& target, bool keeps = false);

/// The head of an HTTP/1.x response, read piece by piece as it arrives (RFC 9112).
class ResponseHead {
  public:
    static constexpr std::size_t kMostBytes = 16384;

    enum class State { kReading, kDone, kBroken };

    ResponseHead() = default;
    /// `chunks`: whether a body in chunks is understood; else such a head is broken.
    explicit ResponseHead(bool chunks) : chunks_(chunks) {}

    /// Takes what belongs to the head and says how many bytes those were; the rest is the body.
    std::size_t feed(std::span<const char> bytes);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] std::optional<std::int64_t> content_length() const { return content_length_; }
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
    void take_connection(std::string_view options);

    State state_ = State::kReading;
    bool chunks_ = false;
    bool chunked_ = false;
    bool closes_ = false;
    bool says_close_ = false;
    std::string text_;
    int status_ = 0;
    std::optional<std::int64_t> content_length_;
    std::string location_;
    std::string leave_;
};

}  // namespace aferir::loadgen
