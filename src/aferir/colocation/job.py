"""What is run: batch work beside a service, what is told meanwhile, and what came of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.colocation.answers import Read
from aferir.colocation.critical import Selector
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import Settings, Sla, State

Reason = Literal["batch ended", "service ended", "stopped"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One service, and the batch program that runs beside it."""

    service: ServiceSpec
    sla: Sla
    command: tuple[str, ...]
    """Command of the batch program; `{threads}` in it is replaced by the number of threads to
    use."""
    selector: Selector = Selector()
    period_s: float = 0.1
    repeat: bool = False
    """Start the batch program again whenever it ends."""
    batch_output: int = 1
    """File that it writes to; its errors go to 2."""


class Tick(msgspec.Struct, frozen=True):
    """One control period: what was seen, what is set then, and what did not work."""

    state: State
    now: Settings
    problems: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    reason: Reason
    batch_exit: int | None
    """Exit code of the batch program's last run; None: it was still running."""
    batch_runs: int
    """Finished ones."""
    batch_cpu_s: float
    duration_s: float
    decisions: int
    late: int
    """Decisions that came more than a period after their time."""
    violations: int
    """Decisions at which the SLA's quantile was above its bound."""
    blind: int
    """Decisions at which it was not known: no answers, or none that were of then."""
    read: Read
    """What was read of the service's answers."""
    own_cpu_s: float
    """CPU time of the controller and of what asks for it, its guard not counted."""
    own_memory_bytes: int
    """The most that was resident of them."""
    guards_lost: int
    leaked_cpus: float | None
    """Deadline bandwidth that is reserved more than before; None: it could not be read."""
    problems: tuple[str, ...]
