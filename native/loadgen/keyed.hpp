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

/// `SCHEME://ADDRESS[:PORT]/KEY,KEY...` with a numeric address: all keys are asked for at once.
/// Nothing where the text is no such URL.
std::optional<Target> parse_keys_url(std::string_view scheme, std::string_view url);

/// Keys that such a target asks for.
std::size_t keys_of(const Target& target);

/// The answer of a key-value store: lines that end with "\r\n", and values of a length that a line
/// said. Read piece by piece; values are thrown away.
class KeyedAnswer {
  public:
    KeyedAnswer(const KeyedAnswer&) = default;
    KeyedAnswer(KeyedAnswer&&) = default;
    KeyedAnswer& operator=(const KeyedAnswer&) = default;
    KeyedAnswer& operator=(KeyedAnswer&&) = default;
    virtual ~KeyedAnswer() = default;

    /// What follows the answer in `bytes` breaks it.
    void feed(std::span<const char> bytes);
    /// The connection has ended.
    void end();

    [[nodiscard]] Answer::State state() const { return state_; }
    /// One of HTTP's: 200 where every key had a value, 404 where one had none, 500 where the server
    /// says an error.
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] bool keeps() const { return state_ == Answer::State::kDone && !ended_; }
    [[nodiscard]] bool begun() const { return begun_; }

  protected:
    KeyedAnswer() = default;

    /// A line without its end: calls one of those below, or nothing where it says nothing.
    virtual void take_line(std::string_view line) = 0;
    /// A value was skipped.
    virtual void value_ended() {}

    void skip_value(std::int64_t bytes);
    void finish(int status);
    void fail() { state_ = Answer::State::kBroken; }

    /// A length between 0 and 1 TiB; nothing where the text is none.
    static std::optional<std::int64_t> length_of(std::string_view text);

  private:
    void take(char byte);

    std::string line_;
    /// Of a value and the line's end after it.
    std::int64_t left_ = 0;
    Answer::State state_ = Answer::State::kReading;
    int status_ = 0;
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace aferir::loadgen
