#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace aferir::loadgen {

/// A body in chunks, read piece by piece (RFC 9112, 7.1); extensions and trailers are skipped.
class Chunks {
  public:
    enum class State { kReading, kDone, kBroken };

    /// Reads `bytes`, and leaves in it what follows the last chunk. Returns the number of bytes of
    /// content.
    std::int64_t feed(std::span<const char>& bytes);

    [[nodiscard]] State state() const { return state_; }

  private:
    enum class Part { kSize, kExtension, kContent, kEnd, kTrailer };

    void take(char byte);
    void take_size(char byte);
    void after_size();

    State state_ = State::kReading;
    Part part_ = Part::kSize;
    std::int64_t left_ = 0;
    int digits_ = 0;
    bool line_is_empty_ = true;
};

}  // namespace aferir::loadgen
