"""Types of a co-location run: the job, the report of each control period, the outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation.answers import Read
from aferir.colocation.critical import Selector
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import Settings, Sla, State

Reason = Literal["batch ended", "service ended", "stopped"]


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One service of a run: its processes, its SLA, and which of its threads are critical."""

    service: ServiceSpec
    sla: Sla
    selector: Selector = Selector()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One or several services, and the batch program that is co-located with them."""

    services: tuple[Served, ...]
    """The services; at least one."""
    command: tuple[str, ...]
    """Command of the batch program; `{threads}` in it is replaced by the number of threads to
    use."""
    period_s: float = 0.1
    repeat: bool = False
    """Whether to start the batch program again whenever it ends."""
    metrics: Path | None = None
    """File for OpenMetrics text, replaced once a second; None: none is written."""
    batch_output: int = 1
    """File descriptor for the batch program's output; its standard error is ours."""

    @property
    def name(self) -> str:
        """Specifications of all services, separated by commas."""
        return ", ".join(str(one.service) for one in self.services)


class Tick(msgspec.Struct, frozen=True):
    """One control period: observed state, settings in effect, and problems."""

    state: State
    now: Settings
    problems: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one service kept its SLA during a run."""

    service: str
    violations: int
    """Number of decisions at which the service's latency quantile was above its bound."""
    blind: int
    """Number of decisions at which the quantile was unknown, because no response or no recent one
    was read.
    """
    read: Read
    """Totals of the service's responses."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a co-location run."""

    reason: Reason
    batch_exit: int | None
    """Exit code of the batch program's last completed run; None if none has completed."""
    batch_runs: int
    """Number of completed runs of the batch program."""
    batch_cpu_s: float
    duration_s: float
    decisions: int
    late: int
    """Number of decisions made more than a control period late."""
    violations: int
    """Number of decisions at which the quantile of any service was above its bound."""
    blind: int
    """Number of decisions at which the quantile of any service was unknown, or not current."""
    read: Read
    """Totals of the responses of all services."""
    services: tuple[Kept, ...]
    """Results of the services, in the order of the job."""
    own_cpu_s: float
    """CPU seconds of the controller and its sensors' helpers, without its guard."""
    own_memory_bytes: int
    """Peak resident memory of the controller and its helpers, in bytes."""
    guards_lost: int
    leaked_cpus: float | None
    """CPUs of deadline bandwidth that were reserved after the run but not before; None: not
    readable.
    """
    problems: tuple[str, ...]
