#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/descriptor.hpp"
#include "ocean/virtual_clock.hpp"

namespace aferir::ocean {

/// A running ocean-helper. It ends with this process, even if that is killed, because its standard
/// input then ends.
class Helper {
  public:
    /// `inherited`: a descriptor that it inherits under the same number; -1: none.
    Helper(const std::string& program, const std::vector<std::string>& arguments, int inherited);
    ~Helper();
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    /// First line of its output, as a number.
    [[nodiscard]] int first_number() const;
    /// Ends it; returns the CPU time in seconds that it used.
    double stop();
    /// Whether it was ended by something else than the end of its standard input.
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    Descriptor input_;
    Descriptor output_;
    pid_t pid_ = -1;
    bool failed_ = false;
};

/// A ClockPage that one process creates, and that others of the same user on this host may map. It
/// has no name, so nothing of it is left behind.
class SharedClock {
  public:
    /// Makes a clock.
    SharedClock(double raw, double offset_s, double oscillator);
    /// Joins the clock that is descriptor `descriptor` of process `owner`.
    SharedClock(pid_t owner, int descriptor);
    ~SharedClock();
    SharedClock(const SharedClock&) = delete;
    SharedClock& operator=(const SharedClock&) = delete;

    [[nodiscard]] int descriptor() const { return file_.number(); }
    [[nodiscard]] ClockPage& page() const { return *page_; }

  private:
    void map();

    Descriptor file_;
    ClockPage* page_ = nullptr;
};

}  // namespace aferir::ocean
