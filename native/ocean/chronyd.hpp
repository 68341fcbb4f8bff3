#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace aferir::ocean {

/// A chronyd of this host, with files that only this process and it see. It ends with this process.
class Chronyd {
  public:
    /// `directives` are those of chrony.conf(5). Unless `steers`, it leaves the system's clock
    /// alone. Errors: UsageError without root.
    Chronyd(const std::vector<std::string>& directives, bool steers);
    ~Chronyd();
    Chronyd(const Chronyd&) = delete;
    Chronyd& operator=(const Chronyd&) = delete;

    /// Waits until it listens on that UDP port. Errors: UsageError if it does not.
    void wait_for_port(int port);
    /// Waits until standard input ends. Errors: UsageError if chronyd ends before.
    void wait_for_end() const;
    [[nodiscard]] long long wake_ups() const;  ///< how often it gave up its processor by itself
    [[nodiscard]] static long long measurements();  ///< of its server

  private:
    [[nodiscard]] bool runs();

    pid_t pid_ = -1;
};

/// A daemon that keeps this host's clock; empty: there is none.
std::string keeper_of_clock();

}  // namespace aferir::ocean
