"""The modes, their history, and all values that the choice of a mode may depend on."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from aferir.colocation.policies.aferir.reserve import Plan
from aferir.colocation.policies.aferir.signals import Signals
from aferir.colocation.policies.aferir.timing import BackOff, Hold, Span, exceeds
from aferir.colocation.policies.parameters import Parameters
from aferir.colocation.settings import State


class Mode(enum.Enum):
    """Ways to rank service, batch and others; docs/concepts/colocation-modes.md has their costs."""

    APART = "apart"
    WEIGHTED = "weighted"
    SHARED = "shared"
    CONTENDED = "contended"
    COMPANY = "company"
    RESERVED = "reserved"
    FIRST = "first"
    YIELD = "yield"


class Track(msgspec.Struct, frozen=True):
    """History of one mode: the time since which its condition holds, and its bar after harm."""

    ready: Span = Span()
    back_off: BackOff = BackOff()


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """The current mode, and the history of every mode."""

    mode: Mode = Mode.YIELD
    since_s: float = -math.inf
    why: str = "the start"
    late: Hold = Hold()
    """Whether the service was recently late in this mode."""
    own_cpus: int = 0
    """CPUs that the batch has to itself in the mode `apart`."""
    tracks: Mapping[Mode, Track] = MappingProxyType({})


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Input of the conditions in the table of modes: state, signals and settings so far."""

    state: State
    signals: Signals
    plan: Plan
    chosen: Parameters
    before: Modes
    limited: bool
    """Whether the batch's group is restricted: its share is below 1, or the parameter `batch_share`
    is 0."""
    lightest: bool
    """Whether the batch has the lowest weight, and has had it for all answers in the latency
    window."""

    @property
    def heavy(self) -> bool:
        """Whether the service needs more than one CPU, and each worker could reserve one.

        One CPU is considered too little from a use of `Parameters.full` on.
        """
        was = any(one.cpus for one in self.state.now.threads.values())
        load, chosen = self.signals.load, self.chosen
        return self.plan.whole and exceeds(load, chosen.full, chosen.free, was=was)

    @property
    def fills(self) -> float:
        """Used share of the fullest pool; if `heavy`, CPUs used over CPUs used or idle."""
        load, idle = self.signals.load, self.signals.idle
        return load / (load + idle) if self.heavy else self.state.occupied

    @property
    def few(self) -> bool:
        """Whether the batch is unlimited and has fewer busy threads than the machine has CPUs."""
        most = self.state.cores - 1 + self.chosen.headroom
        return not self.limited and self.chosen.least_share < self.signals.busy < most

    @property
    def needs(self) -> int:
        """Number of CPUs on which all threads of the batch can run at the same time."""
        return math.ceil(self.signals.busy - self.chosen.least_share)

    @property
    def over(self) -> bool:
        """Whether the quantile is known, and above `near`."""
        return math.inf > self.signals.quantile > self.chosen.near

    @property
    def late(self) -> bool:
        """Whether the service is late with requests that began in the present mode."""
        judged = self.signals.time_s - self.before.since_s >= self.chosen.patience_s
        return judged and self.signals.late
