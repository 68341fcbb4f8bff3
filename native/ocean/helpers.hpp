#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/descriptor.hpp"
#include "ocean/virtual_clock.hpp"

namespace aferir::ocean {

/// A running ocean-helper. It ends when this does: with its standard input, also where we are
/// killed.
class Helper {
  public:
    /// `inherited`: a descriptor that it keeps under the same number; -1: none.
    Helper(const std::string& program, const std::vector<std::string>& arguments, int inherited);
    ~Helper();
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    /// The first line that it prints, as a number.
    [[nodiscard]] int first_number() const;
    /// Ends it; seconds of CPU time that it used.
    double stop();

  private:
    Descriptor input_;
    Descriptor output_;
    pid_t pid_ = -1;
};

/// A ClockPage that one process makes and others of the same user on this host may join. It has no
/// name, so nothing of it is left behind.
class SharedClock {
  public:
    /// Makes one.
    SharedClock(double raw, double offset_s, double oscillator);
    /// Joins the one that is descriptor `descriptor` of process `owner`.
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
