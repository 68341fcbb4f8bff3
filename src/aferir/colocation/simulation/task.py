"""One thread of the simulated machine, and the constant bandwidth server of its reservation."""

from __future__ import annotations

from typing import Literal

from aferir.colocation.settings import Schedule

NICE_0 = 1024.0
IDLE_WEIGHT = 3.0
"""Weight of SCHED_IDLE in the fair class (kernel/sched/sched.h)."""

_ROUNDING_S = 1e-12

Owner = Literal["service", "batch", "system"]


def weight_of_nice(nice: int) -> float:
    """Weight in the fair class: a factor of 1.25 per nice step (kernel/sched/core.c)."""
    return float(NICE_0 / 1.25**nice)


class Task:
    """A thread that runs while it needs CPU time and otherwise sleeps."""

    __slots__ = (
        "budget_s",
        "cpu",
        "cpus",
        "deadline_s",
        "idle",
        "need_s",
        "number",
        "owner",
        "ready_since_s",
        "released_s",
        "schedule",
        "slice_end_s",
        "stopped",
        "used_s",
        "virtual_deadline",
        "vruntime",
        "waited_s",
        "weight",
    )

    def __init__(self, number: int, owner: Owner) -> None:
        self.number = number
        self.owner = owner
        self.need_s = 0.0
        """CPU seconds until the thread sleeps; infinite for batch work."""
        self.schedule = Schedule()
        self.weight = NICE_0
        self.idle = False
        """Whether the thread is under SCHED_IDLE; if so, any other thread that wakes up preempts
        it.
        """
        self.cpus: frozenset[int] | None = None
        self.stopped = False
        self.used_s = self.waited_s = 0.0
        self.cpu: int | None = None
        self.ready_since_s = 0.0
        self.vruntime = self.virtual_deadline = 0.0
        self.slice_end_s = 0.0
        self.budget_s = self.deadline_s = self.released_s = 0.0

    @property
    def share(self) -> float:
        """CPUs that the thread's reservation holds; 0 without a reservation."""
        if self.schedule.policy != "deadline":
            return 0.0
        return self.schedule.runtime_s / self.schedule.period_s

    def ready(self, now_s: float) -> bool:
        """Whether the thread would run if a CPU were free."""
        return self.need_s > 0 and not self.stopped and self.released_s <= now_s

    def wake(self, now_s: float, need_s: float) -> None:
        """Begin work of `need_s` CPU seconds; renews the reservation if its budget is void.

        By the rule of the CBS (Abeni and Buttazzo 1998), the rest of the budget may be used until
        the old deadline only if that does not exceed the reserved share.
        """
        self.need_s = need_s
        self.ready_since_s = now_s
        if self.schedule.policy != "deadline" or self.released_s > now_s:
            return
        left_s = self.deadline_s - now_s
        if left_s <= 0 or self.budget_s > left_s * self.share:
            self.renew(now_s)

    def renew(self, now_s: float) -> None:
        """Start a period with a full budget now."""
        self.budget_s = self.schedule.runtime_s
        self.deadline_s = now_s + self.schedule.period_s
        self.released_s = now_s

    def throttle_or_not(self, now_s: float) -> None:
        """If the budget is used up, throttle the thread until its next period, for up to T - Q.

        An overrun, which happens because budgets are checked only at ticks, postpones the deadline
        (replenish_dl_entity in kernel/sched/deadline.c).
        """
        if self.schedule.policy != "deadline" or self.budget_s > _ROUNDING_S:
            return
        self.released_s = max(self.deadline_s, now_s)
        while self.budget_s <= _ROUNDING_S:
            self.budget_s += self.schedule.runtime_s
            self.deadline_s += self.schedule.period_s
        if self.deadline_s < self.released_s:
            self.renew(self.released_s)


def urgency(task: Task) -> tuple[float, float, float]:
    """Sort key of threads above the fair class: earliest deadline first, then priority and age."""
    if task.schedule.policy == "deadline":
        return (0.0, task.deadline_s, task.number)
    return (1.0, -float(task.schedule.priority), task.ready_since_s)
