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

/// Parses `SCHEME://ADDRESS[:PORT]/KEY,KEY...` with a numeric address; all keys are requested at
/// once. Nothing if the text is not such a URL.
std::optional<Target> parse_keys_url(std::string_view scheme, std::string_view url);

/// Number of keys that such a target requests.
std::size_t keys_of(const Target& target);

/// Answer of a key-value store, read piece by piece: lines that end with "\r\n", and values whose
/// length is in a line before. Values are discarded.
class KeyedAnswer {
  public:
    KeyedAnswer(const KeyedAnswer&) = default;
    KeyedAnswer(KeyedAnswer&&) = default;
    KeyedAnswer& operator=(const KeyedAnswer&) = default;
    KeyedAnswer& operator=(KeyedAnswer&&) = default;
    virtual ~KeyedAnswer() = default;

    /// Reads `bytes`. Anything after the answer makes it invalid.
    void feed(std::span<const char> bytes);
    /// The connection has ended.
    void end();

    [[nodiscard]] Answer::State state() const { return state_; }
    /// Status as in HTTP: 200 if every key had a value, 404 if one had none, 500 if the server
    /// reports an error.
    [[nodiscard]] int status() const { return status_; }
    [[nodiscard]] bool keeps() const { return state_ == Answer::State::kDone && !ended_; }
    [[nodiscard]] bool begun() const { return begun_; }

  protected:
    KeyedAnswer() = default;

    /// Handles a line, given without its end: calls one of the functions below, or none if the line
    /// has no effect.
    virtual void take_line(std::string_view line) = 0;
    /// A value was skipped.
    virtual void value_ended() {}

    void skip_value(std::int64_t bytes);
    void finish(int status);
    void fail() { state_ = Answer::State::kBroken; }

    /// Parses a length between 0 and 1 TiB; nothing if the text is not one.
    static std::optional<std::int64_t> length_of(std::string_view text);

  private:
    void take(char byte);

    std::string line_;
    /// Bytes left of a value and the line end after it.
    std::int64_t left_ = 0;
    Answer::State state_ = Answer::State::kReading;
    int status_ = 0;
    bool begun_ = false;
    bool ended_ = false;
};

}  // namespace aferir::loadgen
