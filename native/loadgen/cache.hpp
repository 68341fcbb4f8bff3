#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loadgen/answer.hpp"
#include "loadgen/http.hpp"

namespace aferir::loadgen {

/// `memcached://ADDRESS[:PORT]/KEY,KEY...` with a numeric address: all keys are asked for at once.
/// Nothing where the text is no such URL.
std::optional<Target> parse_cache_url(std::string_view url);

/// `get` of memcached's text protocol (protocol.txt of its sources).
std::string cache_request(const Target& target);

/// Keys that such a target asks for.
std::size_t cache_keys(const Target& target);

/// The answer to a `get`, read piece by piece; values are thrown away. Its status is one of HTTP's:
/// 200 where every key had a value, 404 where one had none, 500 where the server says an error.
class CacheAnswer {
  public:
    explicit CacheAnswer(std::size_t keys) : keys_(keys) {}

    /// What follows the answer in `bytes` breaks it.
    void feed(std::span<const char> bytes);
    /// The connection has ended.
    void end();

    [[nodiscard]] Answer::State state() const { return state_; }
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] bool keeps() const { return state_ == Answer::State::kDone && !ended_; }
    [[nodiscard]] bool begun() const { return begun_; }

  private:
    void take(char byte);
    void take_line();

    std::size_t keys_;
    std::size_t values_ = 0;
    std::string line_;
    /// Of a value and the line's end after it.
    std::int64_t left_ = 0;
    Answer::State state_ = Answer::State::kReading;
    int status_ = 0;
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace aferir::loadgen
