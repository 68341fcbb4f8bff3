#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace aferir::inside {

// Kills a task's first process and all that came of it: what descends from it, is of its session or
// has its mark among its variables, as far as /proc of this instance tells. Waits for none of them.
void kill_task(pid_t first, const std::string& mark);

// Asks its first process to end (SIGTERM), so that it removes what it made and says what it was
// doing; kills all of the task once that has ended, or after `grace_ms`. Waits for none of them.
void end_task(pid_t first, const std::string& mark, int grace_ms = 2000);

// Numbers of those processes.
std::set<pid_t> of_task(pid_t first, const std::string& mark);

}  // namespace aferir::inside
