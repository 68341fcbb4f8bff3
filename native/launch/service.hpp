#pragma once

#include <sys/resource.h>

#include <string>
#include <string_view>

#include "launch/child.hpp"
#include "launch/options.hpp"
#include "launch/workplace.hpp"

namespace aferir::launch {

/// A program that runs beside the measured one; the destructor ends it.
class Service {
  public:
    /// Starts the service in `folder` by a shell; its output goes into a file at `log`.
    Service(const Job& job, const std::string& folder, const std::string& log);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    Service(Service&&) = delete;
    Service& operator=(Service&&) = delete;

    /// Waits until the service is ready. Returns the reason if it does not become ready, else an
    /// empty text. Errors: Interrupted.
    std::string_view await();

    /// Asks the service to end (SIGTERM), and kills it if it does not. Returns its CPU time and
    /// memory.
    rusage stop();

  private:
    [[nodiscard]] bool ended();
    void end(double grace_s);
    [[nodiscard]] bool is_ready() const;

    const Job& job_;
    std::string folder_;
    std::string log_;
    Started started_;
    bool running_ = false;
    rusage usage_{};
};

}  // namespace aferir::launch
