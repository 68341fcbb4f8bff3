"""CPUs under Linux' scheduling classes, on simulated time.

SCHED_DEADLINE is global EDF with a constant bandwidth server for each thread (kernel documentation,
scheduler/sched-deadline; Abeni and Buttazzo 1998), with GRUB reclaiming if requested (Lipari and
Baruah 2000). SCHED_FIFO comes next, then the fair class, which is EEVDF with one queue for all
CPUs. Linux has one queue per CPU and balances them, so real latencies are somewhat longer. The ends
of slices and budgets are detected at ticks, as in a kernel without high-resolution ticks. The fair
server is modelled only as a deduction from what can be reserved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from aferir.colocation.settings import Batch, Schedule, Settings
from aferir.colocation.simulation.task import (
    IDLE_WEIGHT,
    NICE_0,
    Task,
    urgency,
    weight_of_nice,
)

_UNIT = 100
"""Weight (cpu.weight) that a control group has by default."""
_ROUNDING_S = 1e-10


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Constant properties of the machine."""

    cpus: int = 2
    tick_s: float = 0.004
    """Length of the kernel's tick in s, for HZ = 250."""
    slice_s: float = 0.0028
    """Base slice of the fair class in seconds."""
    quota_period_s: float = 0.1
    interference: float = 0.0
    """Relative increase of a request's CPU time while all other CPUs run batch work, through shared
    caches and memory, which no scheduling class divides."""

    @property
    def reservable_cpus(self) -> float:
        """CPUs that deadline threads may reserve: 95 % of all, less 5 % for the fair server."""
        return 0.9 * self.cpus


class Processors:
    """State of the simulated machine; its user advances it from one `next_event` to the next."""

    def __init__(self, machine: Machine, tasks: Iterable[Task]) -> None:
        self.machine = machine
        self.tasks = list(tasks)
        self.now_s = 0.0
        self.refused = 0
        """Number of reservations that admission refused in the last settings."""
        self._running: list[Task | None] = [None] * machine.cpus
        self._batch = Batch()
        self._grouped = False
        self._quota_left_s = math.inf
        self._refill_s = 0.0
        self._virtual = 0.0

    def apply(self, settings: Settings) -> None:
        """Apply settings to all threads; reservations are admitted as long as there is room."""
        room = self.machine.reservable_cpus + 1e-9
        self.refused = 0
        for task in self.tasks:
            if task.owner == "service":
                wanted = settings.threads.get(task.number, settings.service or Schedule())
                share = wanted.runtime_s / wanted.period_s if wanted.policy == "deadline" else 0.0
                if share > room:
                    self.refused += 1
                    wanted = Schedule()
                else:
                    room -= share
                cpus = frozenset(wanted.cpus or settings.service_cpus) or None
                task.cpus = None if wanted.policy == "deadline" else cpus
                self._reschedule(task, wanted)
        self._apply_batch(settings.batch)

    def wake(self, task: Task, need_s: float) -> None:
        """Wake a thread that will need `need_s` of CPU time."""
        self._place(task)
        task.wake(self.now_s, need_s)

    def next_event(self) -> float:
        """Dispatch threads, and return the time of the next change in seconds."""
        self._refill()
        self._dispatch()
        speed = self._speed()
        found = math.inf
        batch = 0
        for task in self._running:
            if task is None:
                continue
            found = min(found, self.now_s + task.need_s / (speed if task.owner != "batch" else 1))
            if task.schedule.policy == "deadline":
                used_up = self.now_s + max(task.budget_s, 0.0) / self._drain(task)
                found = min(found, self._tick_after(used_up))
            elif task.schedule.policy != "fifo":
                found = min(found, max(task.slice_end_s, self.now_s + _ROUNDING_S))
            batch += task.owner == "batch"
        if batch and self._quota_left_s < math.inf:
            found = min(found, self.now_s + max(self._quota_left_s, _ROUNDING_S) / batch)
        if self._quota_left_s < math.inf:
            found = min(found, self._refill_s)
        for task in self.tasks:
            if task.need_s > 0 and task.released_s > self.now_s:
                found = min(found, task.released_s)
        return found

    def advance(self, to_s: float) -> list[Task]:
        """Advance time, at most to `next_event`; returns the threads that finished their work."""
        past_s = to_s - self.now_s
        speed = self._speed()
        for task in self.tasks:
            if task.cpu is not None:
                self._charge(task, past_s, speed if task.owner != "batch" else 1.0)
            elif task.ready(self.now_s):
                task.waited_s += past_s
        self.now_s = to_s
        ran = [task for task in self._running if task is not None]
        ended = [task for task in ran if task.need_s <= _ROUNDING_S]
        for task in ended:
            task.need_s = 0.0
        if abs(self._tick_after(to_s) - to_s) < _ROUNDING_S:
            for task in ran:
                task.throttle_or_not(to_s)
        return ended

    def _charge(self, task: Task, past_s: float, speed: float) -> None:
        task.used_s += past_s
        task.need_s -= past_s * speed
        if task.schedule.policy == "deadline":
            task.budget_s -= self._drain(task) * past_s
        else:
            task.vruntime += past_s * NICE_0 / self._weight(task)
        if task.owner == "batch":
            self._quota_left_s -= past_s

    def _reschedule(self, task: Task, wanted: Schedule) -> None:
        before = task.schedule
        if before == wanted:
            return
        task.schedule = wanted
        task.weight = IDLE_WEIGHT if wanted.policy == "idle" else weight_of_nice(wanted.nice)
        task.idle = wanted.policy == "idle"
        if wanted.policy == "deadline":
            # A changed reservation continues its period (__setparam_dl); only a new one starts one.
            if before.policy != "deadline":
                task.renew(self.now_s)
        else:
            task.released_s = self.now_s
            self._place(task)

    def _apply_batch(self, batch: Batch) -> None:
        if batch == self._batch:
            return
        schedule = Schedule(policy=batch.policy, nice=batch.nice)
        workers = [task for task in self.tasks if task.owner == "batch"]
        for place, task in enumerate(workers):
            self._reschedule(task, schedule)
            task.idle = batch.idle  # SCHED_IDLE ranks threads within their group alone
            task.cpus = frozenset(batch.cpus) or None
            task.stopped = batch.suspended or (batch.threads is not None and place >= batch.threads)
        if batch.quota_cpus != self._batch.quota_cpus:
            self._quota_left_s = math.inf
            self._refill_s = self.now_s
        self._batch = batch
        self._grouped = batch.idle or batch.weight != _UNIT or batch.policy == "idle"
        for task in self.tasks:
            self._place(task)

    def _refill(self) -> None:
        quota = self._batch.quota_cpus
        if quota is not None and self.now_s >= self._refill_s - _ROUNDING_S:
            self._quota_left_s = quota * self.machine.quota_period_s
            self._refill_s = self.now_s + self.machine.quota_period_s

    def _place(self, task: Task) -> None:
        """Let a thread join the fair class with zero lag: it is owed no CPU time and owes none."""
        task.vruntime = self._virtual
        self._give_slice(task)

    def _give_slice(self, task: Task) -> None:
        task.virtual_deadline = task.vruntime + self.machine.slice_s * NICE_0 / self._weight(task)

    def _weight(self, task: Task) -> float:
        """Weight of a thread in the single queue; members of a group share the group's weight."""
        if not self._grouped or task.owner == "system":
            return task.weight
        members = sum(1 for other in self.tasks if other.owner == task.owner and other.need_s > 0)
        group = NICE_0 * self.machine.cpus
        if task.owner == "batch":
            group *= IDLE_WEIGHT / NICE_0 if self._batch.idle else self._batch.weight / _UNIT
        return group / max(members, 1)

    def _dispatch(self) -> None:
        ready = [task for task in self.tasks if self._may_run(task)]
        chosen: list[Task | None] = [None] * self.machine.cpus
        urgent = [task for task in ready if task.schedule.policy in ("deadline", "fifo")]
        for task in sorted(urgent, key=urgency):
            self._seat(task, chosen)
        fair = [task for task in ready if task.schedule.policy not in ("deadline", "fifo")]
        if fair:
            self._dispatch_fair(fair, chosen)
        for task in self.tasks:
            task.cpu = None
        for cpu, seated in enumerate(chosen):
            if seated is not None:
                seated.cpu = cpu
        self._running = chosen

    def _may_run(self, task: Task) -> bool:
        if not task.ready(self.now_s):
            return False
        return task.owner != "batch" or self._quota_left_s > _ROUNDING_S

    def _dispatch_fair(self, fair: list[Task], chosen: list[Task | None]) -> None:
        weights = {task: self._weight(task) for task in fair}
        total = sum(weights.values())
        self._virtual = sum(task.vruntime * weights[task] for task in fair) / total
        # With several CPUs a thread cannot always use its share, as it runs on only one of them;
        # the unused part is owed to it only up to EEVDF's bound on lag.
        lag_s = self.machine.slice_s + self.machine.tick_s
        for task in fair:
            most = lag_s * NICE_0 / weights[task]
            task.vruntime = min(max(task.vruntime, self._virtual - most), self._virtual + most)
            if task.vruntime >= task.virtual_deadline:
                self._give_slice(task)
            task.virtual_deadline = min(task.virtual_deadline, task.vruntime + most)
        somebody_waits = any(task.cpu is None and not task.idle for task in fair)
        rest = []
        for task in fair:
            protected = task.cpu is not None and self.now_s < task.slice_end_s - _ROUNDING_S
            if protected and chosen[task.cpu or 0] is None and not (task.idle and somebody_waits):
                chosen[task.cpu or 0] = task
            else:
                rest.append(task)
        # EEVDF: of the eligible, the earliest virtual deadline (Stoica and Abdel-Wahab 1995).
        slack = 1e-12 + abs(self._virtual) * 1e-12
        rest.sort(
            key=lambda task: (
                task.vruntime > self._virtual + slack,
                task.virtual_deadline,
                task.number,
            )
        )
        for task in rest:
            if self._seat(task, chosen):
                task.slice_end_s = self._tick_after(self.now_s + self.machine.slice_s)

    def _seat(self, task: Task, chosen: list[Task | None]) -> bool:
        """Assign a free CPU to a thread: its last one, an idle one, or any; False if none is."""
        free = [
            cpu
            for cpu, other in enumerate(chosen)
            if other is None and (task.cpus is None or cpu in task.cpus)
        ]
        if not free:
            return False
        cpu = task.cpu if task.cpu in free else min(free, key=self._disturbed)
        assert cpu is not None
        chosen[cpu] = task
        return True

    def _disturbed(self, cpu: int) -> int:
        running = self._running[cpu]
        if running is None:
            return 0
        return 1 if running.idle else 2

    def _speed(self) -> float:
        """Speed at which all threads but the batch's work: 1, or less because of `interference`."""
        others = max(self.machine.cpus - 1, 1)
        batch = sum(1 for task in self._running if task is not None and task.owner == "batch")
        return 1.0 / (1.0 + self.machine.interference * min(batch / others, 1.0))

    def _drain(self, task: Task) -> float:
        """CPU seconds that a budget loses per second: 1, or with GRUB as computed over all CPUs."""
        if not task.schedule.reclaim:
            return 1.0
        cpus = self.machine.cpus
        inactive = sum(other.share for other in self.tasks if other.need_s <= 0) / cpus
        reserved = sum(other.share for other in self.tasks) / cpus
        extra = 0.95 - 0.05 - reserved
        return max(task.share, 0.95 - inactive - max(extra, 0.0)) / 0.95

    def _tick_after(self, moment_s: float) -> float:
        tick_s = self.machine.tick_s
        return math.ceil(moment_s / tick_s - 1e-9) * tick_s
