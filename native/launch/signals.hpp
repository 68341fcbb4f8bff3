#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace aferir::launch {

/// SIGINT or SIGTERM has been received.
class Interrupted : public std::runtime_error {
  public:
    explicit Interrupted(int signal, std::string stage = {});
    ~Interrupted() override;

    [[nodiscard]] int signal() const { return signal_; }
    /// Step that was interrupted, other than the program itself; empty: none, or unknown.
    [[nodiscard]] const std::string& stage() const { return stage_; }

  private:
    int signal_;
    std::string stage_;
};

/// Blocks SIGCHLD, SIGINT and SIGTERM, and returns the handle by which they arrive (signalfd(2)).
/// Errors: std::system_error.
int open_signals();

/// Reads the signals that have arrived. Errors: Interrupted.
void take_signals();

/// Unblocks in a child the signals that this program reads from a handle.
void unblock_signals();

/// Kills every remaining descendant, in whatever session, and returns their number. They are our
/// children by then, see PR_SET_CHILD_SUBREAPER in prctl(2).
int end_descendants();

/// Makes orphaned descendants our children.
void adopt_orphans();

}  // namespace aferir::launch
