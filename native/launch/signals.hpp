#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace aferir::launch {

/// SIGINT or SIGTERM asked us to end.
class Interrupted : public std::runtime_error {
  public:
    explicit Interrupted(int signal, std::string stage = {});
    ~Interrupted() override;

    [[nodiscard]] int signal() const { return signal_; }
    /// What around the program was being done; empty: nothing, or it is not known.
    [[nodiscard]] const std::string& stage() const { return stage_; }

  private:
    int signal_;
    std::string stage_;
};

/// SIGCHLD, SIGINT and SIGTERM come through the handle that this returns, see signalfd(2).
/// Errors: std::system_error.
int open_signals();

/// Takes the signals that came. Errors: Interrupted.
void take_signals();

/// Gives a child the signals back that we take through a handle.
void unblock_signals();

/// Kills every descendant that is left, whatever session it is in; how many there were.
/// They are our children by then, see PR_SET_CHILD_SUBREAPER in prctl(2).
int end_descendants();

/// Makes orphans among our descendants our children.
void adopt_orphans();

}  // namespace aferir::launch
