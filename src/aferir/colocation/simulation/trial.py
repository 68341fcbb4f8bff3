"""Simulates one policy under one load: response times of the service, and work of the batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from aferir.colocation.critical import occupied
from aferir.colocation.histogram import Histogram, Windows, enough
from aferir.colocation.settings import (
    Decider,
    Latency,
    Policy,
    Settings,
    Sla,
    State,
    ThreadUse,
)
from aferir.colocation.simulation.load import Load
from aferir.colocation.simulation.machine import Machine, Processors
from aferir.colocation.simulation.task import Task

_SLOT_S = 0.1
_SLOTS = 50
"""Largest number of slots in a window, which is extended if its latest slots hold too few
latencies.
"""
_PROBE_S = 0.1
_PROBE_NEED_S = 0.0005
_BATCH_NUMBERS = 10_000


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of a run other than the policy and the seed."""

    machine: Machine = Machine()
    load: Load = Load()
    sla: Sla = Sla()
    service_threads: int = 4
    batch_threads: int = 4
    other_threads: int = 0
    """Threads of other processes, always runnable, in the fair class with normal weight."""
    duration_s: float = 20.0
    warm_up_s: float = 2.0
    """Seconds from the start in which requests are not counted."""
    control_s: float = 0.1

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        if self.service_threads < 1 or self.batch_threads < 0 or self.machine.cpus < 1:
            raise ValueError("threads and processors: at least one of each")
        if not (0 <= self.warm_up_s < self.duration_s < math.inf and self.control_s > 0):
            raise ValueError("duration: longer than the warm-up")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one simulated run."""

    latency: Latency | None
    """The SLA's quantile over the whole run; None: too few responses for an interval."""
    violations: float
    """Share of the requests that took longer than the bound, or were never answered."""
    requests: int
    batch_share: float
    """Batch work as a share of what the batch program does alone."""
    system_worst_s: float
    """Longest response time in seconds of a small task of the system, which runs ten times a
    second."""
    changes: int
    """Number of decisions that changed the settings."""
    answers: tuple[tuple[float, float], ...]
    """Arrival time and latency of each request in seconds, in order of completion. Requests still
    open at the end come last, with the duration of the run as latency."""

    def meets(self, sla: Sla) -> bool:
        """Whether the quantile is known and within the bound."""
        return self.latency is not None and self.latency.quantile_s <= sla.bound_s


def run(scenario: Scenario, policy: Policy[Any], seed: int) -> Outcome:
    """Run a scenario; the policy decides once per control period (by default every 0.1 s)."""
    return _Trial(scenario, policy, seed).go()


class _Trial:
    def __init__(self, scenario: Scenario, policy: Policy[Any], seed: int) -> None:
        self.scenario = scenario
        self.decider = Decider(policy)
        self.threads = [Task(number + 1, "service") for number in range(scenario.service_threads)]
        self.batch = [
            Task(_BATCH_NUMBERS + number, "batch") for number in range(scenario.batch_threads)
        ]
        self.system = Task(0, "system")
        self.others = [Task(-1 - number, "system") for number in range(scenario.other_threads)]
        tasks = [*self.threads, *self.batch, self.system, *self.others]
        self.processors = Processors(scenario.machine, tasks)
        rng = np.random.default_rng(seed)
        self.coming: Iterator[tuple[float, float]] = scenario.load.requests(
            scenario.machine.cpus, scenario.duration_s, rng
        )
        self.waiting: deque[tuple[float, float]] = deque()
        self.serving: dict[int, float] = {}
        self.windows = Windows(_SLOT_S, _SLOTS)
        self.fresh = Histogram()
        self.counts: deque[tuple[float, int]] = deque()
        self.answers: list[tuple[float, float]] = []
        self.requests = 0
        self.settings = Settings()
        self.changes = 0
        self.answered_s = 0.0
        self.used = dict.fromkeys((task.number for task in tasks), 0.0)
        self.waited = dict(self.used)
        self.system_worst_s = 0.0
        self.batch_before_s = 0.0

    def go(self) -> Outcome:
        scenario, processors = self.scenario, self.processors
        for task in (*self.batch, *self.others):
            processors.wake(task, math.inf)
        arrival = next(self.coming, (math.inf, 0.0))
        control_s, probe_s = 0.0, _PROBE_S
        while processors.now_s < scenario.duration_s:
            until = min(arrival[0], control_s, probe_s, scenario.duration_s)
            for task in processors.advance(
                max(processors.now_s, min(processors.next_event(), until))
            ):
                self._ended(task)
            now = processors.now_s
            if now >= arrival[0]:
                self._arrive(arrival)
                arrival = next(self.coming, (math.inf, 0.0))
            if now >= control_s:
                self._control()
                control_s += scenario.control_s
            if now >= probe_s:
                self._probe()
                probe_s += _PROBE_S
        return self._outcome()

    def _arrive(self, request: tuple[float, float]) -> None:
        if request[0] >= self.scenario.warm_up_s:
            self.requests += 1
        for task in self.threads:
            if task.need_s <= 0:
                self._serve(task, request)
                return
        self.waiting.append(request)

    def _serve(self, task: Task, request: tuple[float, float]) -> None:
        self.serving[task.number] = request[0]
        self.processors.wake(task, max(request[1], 1e-7))

    def _ended(self, task: Task) -> None:
        now = self.processors.now_s
        if task is self.system:
            self._note_system(now - task.ready_since_s)
        if task.owner != "service":
            return
        arrived = self.serving.pop(task.number)
        latency_s = now - arrived
        self.fresh.add(latency_s)
        self.answered_s = now
        self.answers.append((arrived, latency_s))
        if self.waiting:
            # The thread does not sleep between requests, so its reservation is not renewed.
            following = self.waiting.popleft()
            self.serving[task.number] = following[0]
            task.need_s = max(following[1], 1e-7)

    def _probe(self) -> None:
        """Wake the small system task, or note how long it has waited if it has not finished."""
        now = self.processors.now_s
        if now < self.scenario.warm_up_s + 2 * _PROBE_S:
            self.batch_before_s = sum(task.used_s for task in self.batch)
            self.warm_s = now
        if self.system.need_s > 0:
            self._note_system(now - self.system.ready_since_s)
        else:
            self.processors.wake(self.system, _PROBE_NEED_S)

    def _note_system(self, latency_s: float) -> None:
        if self.processors.now_s >= self.scenario.warm_up_s:
            self.system_worst_s = max(self.system_worst_s, latency_s)

    def _control(self) -> None:
        self.windows.add(self.processors.now_s, self.fresh)
        self.counts.append((self.processors.now_s, self.fresh.total))
        self.fresh = Histogram()
        wanted = self.decider.decide(self._state())
        if wanted.unexplained() != self.settings.unexplained():
            self.changes += 1
            self.processors.apply(wanted)
        self.settings = wanted

    def _state(self) -> State:
        scenario, now = self.scenario, self.processors.now_s
        quantile, tasks = scenario.sla.quantile, self.processors.tasks
        past_s = scenario.control_s
        cpus = {task.number: (task.used_s - self.used[task.number]) / past_s for task in tasks}
        waited = {
            task.number: (task.waited_s - self.waited[task.number]) / past_s for task in tasks
        }
        self.used = {task.number: task.used_s for task in tasks}
        self.waited = {task.number: task.waited_s for task in tasks}
        while self.counts[0][0] < now - 1.0:
            self.counts.popleft()
        service = sum(cpus[task.number] for task in self.threads)
        batch = sum(cpus[task.number] for task in self.batch)
        threads = tuple(
            ThreadUse(
                tid=task.number,
                name="worker",
                cpus=cpus[task.number],
                waited_cpus=waited[task.number],
            )
            for task in self.threads
        )
        return State(
            time_s=now,
            sla=scenario.sla,
            latency=self.windows.latest(enough(quantile), slots=2).latency(quantile),
            rate=sum(count for _, count in self.counts) / min(max(now, past_s), 1.0),
            silent_s=now - self.answered_s,
            threads=threads,
            occupied=occupied(threads),
            service_cpus=service,
            batch_cpus=batch,
            idle_cpus=max(0.0, scenario.machine.cpus - sum(cpus.values())),
            cores=scenario.machine.cpus,
            reservable_cpus=scenario.machine.reservable_cpus,
            batch_ended=not self.batch,
            now=self.settings,
        )

    def _outcome(self) -> Outcome:
        scenario = self.scenario
        open_requests = (*self.serving.values(), *(request[0] for request in self.waiting))
        # A request still open after the bound counts as one that took the whole run.
        answers = self.answers + [
            (arrived, scenario.duration_s)
            for arrived in open_requests
            if self.processors.now_s - arrived > scenario.sla.bound_s
        ]
        found = Histogram(
            latency_s for arrived, latency_s in answers if arrived >= scenario.warm_up_s
        )
        alone = min(len(self.batch), scenario.machine.cpus)
        alone_s = alone * (self.processors.now_s - self.warm_s)
        done_s = sum(task.used_s for task in self.batch) - self.batch_before_s
        return Outcome(
            latency=found.quantile(scenario.sla.quantile),
            violations=found.above(scenario.sla.bound_s) / max(found.total, 1),
            requests=self.requests,
            batch_share=done_s / alone_s if alone_s > 0 else 0.0,
            system_worst_s=self.system_worst_s,
            changes=self.changes,
            answers=tuple(answers),
        )
