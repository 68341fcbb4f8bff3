#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace aferir::inside {

// Kills the processes of a task: its first one and those that descend from it, are of its session,
// or have its mark in their environment, as far as this instance's /proc shows. Waits for none of
// them.
void kill_task(pid_t first, const std::string& mark);

// Asks the first process to end (SIGTERM), so that it can clean up and report; kills all of the
// task once that has ended, or after `grace_ms`. Waits for none of them.
void end_task(pid_t first, const std::string& mark, int grace_ms = 2000);

// Process IDs of the task.
std::set<pid_t> of_task(pid_t first, const std::string& mark);

}  // namespace aferir::inside
