"""Input and output of a policy: `State` and `Settings`, the two values of one control period.

A policy is a pure function `decide(state, memory) -> (settings, memory)`. `memory` is a frozen
struct of the policy's own type, for what its next decision needs (an integral, a step count);
nothing but the policy reads its fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar, get_args

import msgspec

from aferir.model.units import format_duration, parse_duration

SchedulingPolicy = Literal["other", "batch", "idle", "fifo", "deadline"]
"""Scheduling policies of Linux, see sched(7)."""

Lever = Literal["memory", "disk_weight", "disk_target", "disk", "cache"]
"""Resources of the batch, other than processors, that a policy may limit: memory, the weight of its
disk requests, how late those of others may be because of them, their bytes per second, and the part
of the last-level cache and of the memory bandwidth.
"""
LEVERS: tuple[Lever, ...] = get_args(Lever)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Scheduling attributes of one thread. With `deadline`, the deadline equals the period."""

    policy: SchedulingPolicy = "other"
    nice: int = 0
    """Nice value for `other` and `batch`, from -20 (highest weight) to 19."""
    priority: int = 0
    """Priority for `fifo`, from 1 to 99 (highest)."""
    runtime_s: float = 0.0
    """Runtime Q for `deadline`: CPU seconds guaranteed, and not exceeded, in every period; at least
    1,024 ns."""
    period_s: float = 0.0
    """Period T for `deadline`, at most 4.19 s. A thread that has used Q waits up to T - Q."""
    reclaim: bool = False
    """With `deadline`, the thread may use more than Q if other threads leave bandwidth unused
    (SCHED_FLAG_RECLAIM, GRUB)."""
    cpus: tuple[int, ...] = ()
    """CPUs that the thread may use, among those it could use originally; (): those of
    `Settings.service_cpus`. Must be empty with `deadline`, which needs all CPUs.
    """


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the batch program, for all of its processes together."""

    policy: Literal["other", "batch", "idle"] = "other"
    nice: int = 0
    weight: int = 100
    """Weight beside other control groups, 1 to 10,000; 100 is the kernel's default (cpu.weight)."""
    idle: bool = False
    """True if the whole group is scheduled like SCHED_IDLE (cpu.idle); `weight` then has no effect.
    """
    quota_cpus: float | None = None
    """Largest number of CPU seconds per second; None: no limit."""
    cpus: tuple[int, ...] = ()
    """CPUs that the batch may use; (): all CPUs."""
    suspended: bool = False
    """True if the batch is stopped, to be resumed later."""
    memory_high_bytes: int | None = None
    """Memory in bytes above which the kernel reclaims the batch's memory and delays it
    (memory.high); None: no limit.
    """
    disk_weight: int | None = None
    """Weight of its disk requests beside other control groups, 1 to 1,000; None: 100, the kernel's
    default. It has an effect under the scheduler BFQ, and with io.cost in version 2."""
    disk_bps: int | None = None
    """Largest number of bytes per second that it may read, and that it may write, on each disk;
    None: no limit.
    """
    cache_percent: int | None = None
    """Part of the last-level cache and of the memory bandwidth that it may use; None: all."""
    threads: int | None = None
    """Number of threads, for a program that can change it while it runs; None: the program
    chooses."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Reason for the present settings, for people and metrics; no actuator reads it."""

    mode: str = ""
    """Mode of the policy, as an identifier; empty for a policy that has only one."""
    why: str = ""
    """Cause of the change to this mode, as a clause such as `the quantile neared the SLA`."""
    since_s: float = 0.0
    """Time, on the clock of `State.time_s`, of the change to this mode."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one decision may change on the machine. By default nothing is changed."""

    threads: dict[int, Schedule] = {}
    """Schedules of critical threads by thread ID (tid)."""
    service: Schedule | None = None
    """Schedule of the service's other threads, present and future; None: as they were found."""
    service_cpus: tuple[int, ...] = ()
    """CPUs that the service's threads may use; (): as found. Excludes `deadline`, which the
    kernel refuses to threads that may not use every CPU (EPERM)."""
    service_memory_low_bytes: int | None = None
    """Bytes of memory of each service's group that the kernel reclaims last (memory.low); None:
    unchanged.
    """
    disk_target_s: float | None = None
    """Latency of disk requests of the groups beside the batch's above which the kernel throttles
    those of the batch (io.latency), in seconds; None: no target."""
    batch: Batch = Batch()
    explanation: Explanation = Explanation()
    """Mode of the policy and cause of its last change; it changes nothing on the machine."""

    def unexplained(self) -> Settings:
        """Return what these settings change on the machine, without their explanation."""
        return msgspec.structs.replace(self, explanation=Explanation())


_SLA = re.compile(r"p([0-9]{1,2}(?:\.[0-9]+)?)\s*(?:=|<=)\s*(.+)")
SLA_PATTERN = rf"^\s*{_SLA.pattern}$"


class Sla(msgspec.Struct, frozen=True):
    """Service level: the given quantile of the response times is at most `bound_s` seconds."""

    quantile: float = 0.95
    bound_s: float = 0.2

    @classmethod
    def parse(cls, written: str) -> Sla:
        """Parse an SLA such as `p95=200ms`.

        Errors: ValueError if it is not a quantile with a positive bound.
        """
        found = _SLA.fullmatch(written.strip())
        quantile = float(found[1]) / 100 if found else 0.0
        bound_s = parse_duration(found[2]) if found else 0.0
        if quantile <= 0 or bound_s <= 0:
            raise ValueError("is not a quantile with its bound")
        return cls(quantile, bound_s)

    def __str__(self) -> str:
        """The SLA as `parse` reads it, such as `p95=200ms`."""
        return f"p{100 * self.quantile:g}={format_duration(self.bound_s).replace(' ', '')}"


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The SLA's quantile of the response times in the window, with its 95 % confidence interval."""

    quantile_s: float
    low_s: float
    high_s: float
    """Upper end in s; infinite if the n answers are too few for an upper bound of the quantile."""
    n: int


class ThreadUse(msgspec.Struct, frozen=True, kw_only=True):
    """Use of the CPU by one critical thread in the last control period."""

    tid: int
    name: str
    cpus: float
    """CPU seconds per second that the thread used."""
    waited_cpus: float = 0.0
    """Seconds per second that the thread was runnable but had no CPU (run_delay of schedstat)."""


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the time, 0 to 1, in which some task of the service waited (PSI of its group)."""

    cpu: float = 0.0
    memory: float = 0.0
    disk: float = 0.0


class ServiceState(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed of one service, by default in the last control period."""

    name: str = ""
    """Specification of the service, such as `unit:nginx`."""
    sla: Sla
    latency: Latency | None
    """Latency over the window; None if nothing was answered in it."""
    rate: float = 0.0
    """Requests answered per second, over the window."""
    silent_s: float = 0.0
    """Seconds since the last answer, or since the start: long if requests are few or the service
    hangs."""
    threads: tuple[ThreadUse, ...] = ()
    """CPU use of each critical thread that exists now."""
    occupied: float = 0.0
    """Share of the time in which the critical threads of the fullest pool run or wait for a CPU. If
    it is near 1, requests queue; a log does not show that if it measures a request only from when a
    thread takes it up.
    """
    service_cpus: float = 0.0
    """CPU seconds per second used by the whole service."""
    service_cores: int = 0
    """Number of CPUs that the service's processes may use; 0: all."""
    service_memory_bytes: int = 0
    """Memory in bytes of the service's control group; 0: unknown."""
    waits: Waits | None = None
    """Shares of time in which the service waited; None without a version 2 group of its own."""

    @property
    def ratio(self) -> float | None:
        """Latency quantile divided by the SLA's bound; None if it is unknown."""
        return self.latency.quantile_s / self.sla.bound_s if self.latency else None


class State(ServiceState, frozen=True, kw_only=True):
    """Everything that a policy reads at one decision, by default as of the last control period.

    If there are several services, the inherited fields are those of `several.together`: latency,
    SLA, rate, silence and waits are those of the service that is worst off; CPU use and threads are
    those of all services.
    """

    services: tuple[ServiceState, ...] = ()
    """States of several services, in the job's order; () if there is only one."""
    time_s: float
    """Time in seconds on a monotonic clock."""
    batch_cpus: float = 0.0
    """CPU seconds per second used by the batch program."""
    idle_cpus: float = 0.0
    """CPU seconds per second that were idle."""
    steal_cpus: float = 0.0
    """CPU seconds per second that the hypervisor took for other guests."""
    others_reserved_cpus: float = 0.0
    """CPU seconds per second used by processes, neither service nor batch, that have a
    SCHED_DEADLINE reservation of their own; nothing that is set here delays them.
    """
    pressure: float = 0.0
    """Share of the time, 0 to 1, in which some task of the machine waited for a CPU (PSI, cpu
    some).
    """
    batch_memory_bytes: int = 0
    """Memory of the batch's control group; 0: unknown."""
    batch_disk_bps: float = 0.0
    """Bytes per second that the batch reads and writes on all disks."""
    levers: frozenset[Lever] = frozenset()
    """Resources other than processors that this machine can limit for the batch."""
    batch_throttled: float = 0.0
    """Share of time in which the quota throttled the batch program, 0 to 1."""
    cores: int = 1
    reservable_cpus: float = 0.0
    """CPUs that the kernel admits to deadline threads altogether; 0: none, or no privilege."""
    batch_ended: bool = False
    """True if no batch work exists at present."""
    now: Settings = Settings()
    """Settings of the last decision."""

    @property
    def each(self) -> tuple[ServiceState, ...]:
        """States of all services; only this state if there is one service."""
        return self.services or (self,)

    @property
    def all_rate(self) -> float:
        """Requests answered per second by all services together."""
        return sum(one.rate for one in self.each)

    @property
    def worst(self) -> str:
        """Name, in a message, of the service worst off; `the service` if there is only one."""
        return self.name if self.services else "the service"

    @property
    def worst_sla(self) -> str:
        """Name, in a message, of the SLA of the service that is worst off."""
        return f"the SLA of {self.name}" if self.services else "the SLA"


M = TypeVar("M")


class Policy(msgspec.Struct, Generic[M], frozen=True):
    """A policy: its memory at the start, and the function that decides."""

    begin: M
    decide: Callable[[State, M], tuple[Settings, M]]


class Decider:
    """Carries a policy's memory from one decision to the next, without reading it."""

    def __init__(self, policy: Policy[Any]) -> None:
        self._decide = policy.decide
        self._memory = policy.begin

    def decide(self, state: State) -> Settings:
        """Return the policy's settings for this state."""
        settings, self._memory = self._decide(state, self._memory)
        return settings
