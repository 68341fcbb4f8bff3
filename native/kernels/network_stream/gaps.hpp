#pragma once

namespace aferir {

/// Finds the longest time without traffic. note() is called with the time, in seconds of a
/// monotonic clock, whenever data arrives.
class GapWatch {
  public:
    void note(double now_s);
    /// Longest time in seconds between two calls of note(); 0 with fewer than two calls.
    [[nodiscard]] double longest_s() const { return longest_s_; }
    /// Start of that pause, by the same clock.
    [[nodiscard]] double began_s() const { return began_s_; }
    [[nodiscard]] double first_s() const { return first_s_; }
    [[nodiscard]] double last_s() const { return last_s_; }

  private:
    double first_s_ = -1;
    double last_s_ = -1;
    double longest_s_ = 0;
    double began_s_ = 0;
};

}  // namespace aferir
