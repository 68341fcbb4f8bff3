"""What a policy sees and what it sets: the two values of one control period.

A policy is a pure function `decide(state) -> settings`. What it wants to remember between two
decisions (an integral, a step count) is in `Settings.memory`, which comes back in `State.now`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from aferir.model.units import format_duration, parse_duration

Policy = Literal["other", "batch", "idle", "fifo", "deadline"]
"""Scheduling policies of Linux, see sched(7)."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """How one thread is scheduled. With `deadline`, the deadline is the period."""

    policy: Policy = "other"
    nice: int = 0
    """other and batch: -20 (first) to 19."""
    priority: int = 0
    """fifo: 1 to 99 (first)."""
    runtime_s: float = 0.0
    """deadline: Q, CPU time guaranteed, and not exceeded, in every period; 1,024 ns at least."""
    period_s: float = 0.0
    """deadline: T. A thread that has used Q waits up to T - Q; the longest is 4.19 s."""
    reclaim: bool = False
    """deadline: may use more than Q where others leave it (SCHED_FLAG_RECLAIM, GRUB)."""
    cpus: tuple[int, ...] = ()
    """CPUs that it may use, of those that it was found with; (): as `Settings.service_cpus` has it.
    Not with `deadline`, which takes all."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """How the batch program runs, all of its processes together."""

    policy: Literal["other", "batch", "idle"] = "other"
    nice: int = 0
    weight: int = 100
    """Share beside other control groups: 1 to 10,000, 100 is what everybody has (cpu.weight)."""
    idle: bool = False
    """The whole group runs as SCHED_IDLE does (cpu.idle); `weight` is void then."""
    quota_cpus: float | None = None
    """CPU seconds per second that it may use at most; None: no limit."""
    cpus: tuple[int, ...] = ()
    """CPUs that it may use; (): all."""
    suspended: bool = False
    """Stopped altogether, to go on later."""
    threads: int | None = None
    """Threads to use, for a program that can be told while it runs; None: its own choice."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a control period may change. The default: all as it was found."""

    threads: dict[int, Schedule] = {}
    """Critical threads by their number (tid)."""
    service: Schedule | None = None
    """All other threads of the service, and those that come; None: as they were found."""
    service_cpus: tuple[int, ...] = ()
    """CPUs that the service's threads may use; (): as found. Threads under `deadline` cannot be
    kept from a CPU (EPERM), so this excludes them."""
    batch: Batch = Batch()
    memory: dict[str, float] = {}
    """What the policy wants to find again at its next decision; changes nothing on the machine."""


_SLA = re.compile(r"p([0-9]{1,2}(?:\.[0-9]+)?)\s*(?:=|<=)\s*(.+)")
SLA_PATTERN = rf"^\s*{_SLA.pattern}$"


class Sla(msgspec.Struct, frozen=True):
    """Service level: that quantile of the response times is `bound_s` at most."""

    quantile: float = 0.95
    bound_s: float = 0.2

    @classmethod
    def parse(cls, written: str) -> Sla:
        """`p95=200ms`. Errors: ValueError in words."""
        found = _SLA.fullmatch(written.strip())
        quantile = float(found[1]) / 100 if found else 0.0
        bound_s = parse_duration(found[2]) if found else 0.0
        if quantile <= 0 or bound_s <= 0:
            raise ValueError("is not a quantile with its bound")
        return cls(quantile, bound_s)

    def __str__(self) -> str:
        """As it is written."""
        return f"p{100 * self.quantile:g}={format_duration(self.bound_s).replace(' ', '')}"


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The SLA's quantile of the response times in the window, with its 95 % interval."""

    quantile_s: float
    low_s: float
    high_s: float
    """Infinite where the n answers are too few to bound it from above."""
    n: int


class ThreadUse(msgspec.Struct, frozen=True, kw_only=True):
    """One critical thread in the last control period."""

    tid: int
    name: str
    cpus: float
    """CPU seconds per second that it used."""
    waited_cpus: float = 0.0
    """Seconds per second that it was runnable and had no CPU (schedstat's run_delay)."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at one decision. Shares of the last control period, unless said otherwise."""

    time_s: float
    """On a clock that only goes forward."""
    sla: Sla
    latency: Latency | None
    """None: no answer in the window."""
    rate: float = 0.0
    """Requests answered a second, over the window."""
    silent_s: float = 0.0
    """Since the last answer, or since the start: long with few requests, or a hung service."""
    threads: tuple[ThreadUse, ...] = ()
    """The critical threads there are now."""
    occupied: float = 0.0
    """Of the fullest pool of them, the part that runs or waits for a CPU: near 1 requests queue,
    which a log does not tell that counts from when a thread takes one up."""
    service_cpus: float = 0.0
    """CPU seconds per second of the whole service."""
    batch_cpus: float = 0.0
    """CPU seconds per second of the batch program."""
    idle_cpus: float = 0.0
    """CPU seconds per second that nobody used."""
    steal_cpus: float = 0.0
    """CPU seconds per second that a hypervisor gave to others."""
    others_reserved_cpus: float = 0.0
    """CPU seconds per second of processes, neither the service's nor the batch's, that have a
    reservation of their own: nothing here holds them up."""
    pressure: float = 0.0
    """Share of the time that some task of the machine waited for a CPU (PSI, cpu some), 0 to 1."""
    batch_throttled: float = 0.0
    """Share of the time that the batch program's quota stopped it, 0 to 1."""
    cores: int = 1
    service_cores: int = 0
    """CPUs that the service's processes may use; 0: all."""
    reservable_cpus: float = 0.0
    """What the kernel admits to deadline threads altogether; 0: none, or no privilege."""
    batch_ended: bool = False
    """There is no batch work at present."""
    now: Settings = Settings()
    """What is set, as of the last decision."""


Decide = Callable[[State], Settings]
"""A policy."""
