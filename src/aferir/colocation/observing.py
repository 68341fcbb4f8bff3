"""Observes services: threads, use of resources, latencies, and the resources that they wait for."""

from __future__ import annotations

import time

import msgspec

from aferir.colocation import service
from aferir.colocation.answers import Answers
from aferir.colocation.critical import occupied
from aferir.colocation.follow import Follower
from aferir.colocation.job import Kept, Served
from aferir.colocation.sensors.base import Sensor
from aferir.colocation.settings import ServiceState, ThreadUse
from aferir.colocation.usage import Use
from aferir.colocation.waiting import Used, Waiting

_RESTARTS_S = 30.0
"""Seconds for which a service may be gone and restart, unless it was named by its process ID."""


class _Pools(msgspec.Struct, frozen=True, kw_only=True):
    """CPU use of the critical threads, and the samples from which it was computed."""

    used: dict[int, tuple[float, float]]
    critical: frozenset[int]
    threads: tuple[ThreadUse, ...]
    occupied: float
    cores: int


class Observer:
    """Observes one service during one run."""

    def __init__(self, served: Served, sensor: Sensor, waits: Waiting, time_s: float) -> None:
        """Start to observe a service at `time_s`.

        Errors: UsageError for an invalid regular expression.
        """
        self.served = served
        self.sensor = sensor
        self.follower = Follower(served.service, served.selector)
        self.answers = Answers(sensor, served.sla, time_s)
        self.silent: tuple[int, ...] = ()
        """Critical threads that were newly found to have used no CPU time."""
        self.used = Used()
        """Use of memory and disks in the last interval, as `waiting` samples it."""
        self._waits = waits
        self._pools: _Pools | None = None
        self._gone_since_s: float | None = None
        self._violations = self._blind = 0

    def look(self, now_s: float) -> None:
        """Read the latencies and the threads at `now_s`."""
        self.answers.look(now_s)
        self.follower.look(now_s, self.answers.rate)

    def state(self, now_s: float, use: Use) -> ServiceState:
        """Return the service's state. `use`: CPU use of the threads of all services."""
        follower, answers = self.follower, self.answers
        pools = self._look_at_pools(use)
        self.used = self._waits.look(now_s)
        return ServiceState(
            name=str(self.served.service),
            sla=self.served.sla,
            latency=answers.latency,
            rate=answers.rate,
            silent_s=answers.silent_s(now_s),
            threads=pools.threads,
            occupied=pools.occupied,
            service_cpus=sum(use.processes.get(pid, 0.0) for pid in follower.pids),
            service_cores=pools.cores,
            service_memory_bytes=self.used.service_memory_bytes,
            waits=self.used.waits,
        )

    def _look_at_pools(self, use: Use) -> _Pools:
        """Critical threads, recomputed only when they or their measured use have changed."""
        follower, before = self.follower, self._pools
        self.silent = ()
        if before and before.used is use.threads and before.critical == follower.critical:
            return before
        threads = tuple(
            ThreadUse(tid=tid, name=follower.name(tid), cpus=run, waited_cpus=waited)
            for tid in sorted(follower.critical)
            for run, waited in [use.threads.get(tid, (0.0, 0.0))]
        )
        self._pools = _Pools(
            used=use.threads,
            critical=follower.critical,
            threads=threads,
            occupied=occupied(threads),
            cores=service.usable_cpus(follower.pids),
        )
        self.silent = tuple(one.tid for one in threads if not one.cpus)
        return self._pools

    def judge(self, now_s: float, state: ServiceState) -> tuple[bool, str]:
        """Return whether the SLA is violated, and why the latency is not current (or "").

        Both are counted, so call it once after each `look`.
        """
        unknown = self.answers.blind(now_s, state.service_cpus)
        broken = not unknown and state.ratio is not None and state.ratio > 1
        self._blind += bool(unknown)
        self._violations += broken
        return broken, unknown

    @property
    def kept(self) -> Kept:
        """Result of the service's run so far."""
        return Kept(
            service=str(self.served.service),
            violations=self._violations,
            blind=self._blind,
            read=self.answers.read,
        )

    def has_ended(self) -> bool:
        """Whether the service has ended: at once if named by process ID, else after 30 s."""
        if self.follower.pids:
            self._gone_since_s = None
            return False
        now_s = time.monotonic()
        self._gone_since_s = self._gone_since_s or now_s
        patience_s = _RESTARTS_S if self.served.service.may_restart else 0.0
        return now_s - self._gone_since_s >= patience_s

    def close(self) -> None:
        """Close files; the sensor stays open."""
        self.follower.close()


class Union:
    """Threads of all services (tid to pid), the same object as long as none of them changes."""

    def __init__(self) -> None:
        self._parts: list[dict[int, int]] = []
        self._made: dict[int, int] = {}

    def of(self, parts: list[dict[int, int]]) -> dict[int, int]:
        """Return the union of the services' threads; the same object while nothing changes."""
        if len(parts) == 1:
            return parts[0]
        if [*map(id, parts)] != [*map(id, self._parts)]:
            self._parts = parts
            self._made = {tid: pid for part in parts for tid, pid in part.items()}
        return self._made
