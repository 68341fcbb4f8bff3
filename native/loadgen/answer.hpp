#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "loadgen/chunks.hpp"
#include "loadgen/http.hpp"

namespace aferir::loadgen {

/// One response as a whole, read piece by piece: a head, and a body of a known length, in chunks,
/// or up to the end of the connection (RFC 9112, 6). The body is discarded.
class Answer {
  public:
    enum class State { kReading, kDone, kBroken };

    /// Reads `bytes`. Anything after the response makes it invalid, as nothing else was requested.
    void feed(std::span<const char> bytes);
    /// The connection has ended.
    void end();

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int status() const { return head_.status(); }
    /// Target of a redirection, as the server wrote it.
    [[nodiscard]] const std::string& location() const { return head_.location(); }
    /// Whether the connection can be used again.
    [[nodiscard]] bool keeps() const { return state_ == State::kDone && keeps_; }
    [[nodiscard]] bool begun() const { return begun_; }

  private:
    enum class Part { kHead, kLength, kToEnd, kChunks };

    void begin_body();
    void take_body(std::span<const char>& bytes);
    void finish() { state_ = State::kDone; }
    void fail() { state_ = State::kBroken; }

    ResponseHead head_;
    Chunks chunks_;
    State state_ = State::kReading;
    Part part_ = Part::kHead;
    std::int64_t left_ = 0;
    bool keeps_ = true;
    bool begun_ = false;
};

}  // namespace aferir::loadgen
