"""Measures the energy of a piece of work from one power source, read while the work runs."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from aferir.linux import steady
from aferir.model.stamps import Stamp
from aferir.power.base import Description, Source, worth
from aferir.power.watch import Watched, watch

_EVERY_S = 0.5
_MOST_S = 30 * 24 * 3600.0
_END_S = 30.0


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Power and energy during the work alone."""

    seconds: float
    began: Stamp
    """Time at which the work began."""
    at_s: tuple[float, ...] = ()
    """Time of each valid reading, in seconds since the work began."""
    power_w: tuple[float, ...] = ()
    description: Description | None = None
    """Properties of the readings; None if the source did not describe itself."""
    refused: dict[str, int] = {}
    """Number of refused readings by reason, including those before the work."""

    @property
    def mean_w(self) -> float | None:
        """Mean power in watts; None without a valid reading."""
        return sum(self.power_w) / len(self.power_w) if self.power_w else None

    @property
    def energy_j(self) -> float | None:
        """Mean power times duration, in joules; None without a valid reading."""
        return None if self.mean_w is None else self.mean_w * self.seconds

    @property
    def largest_error_w(self) -> float:
        """Largest error of the mean by the device's step and accuracy, in watts; 0: unknown."""
        if self.description is None or self.mean_w is None:
            return 0.0
        return self.description.resolution_w / 2 + self.description.accuracy * self.mean_w

    @property
    def worth(self) -> str:
        """Uncertainties and assumptions of the power; "" if none are known."""
        device = self.description
        if device is None or self.mean_w is None:
            return ""
        said = worth(device)
        if self.seconds >= device.period_s:
            return said
        seldom = f"updated every {device.period_s:g} s, more than the work took"
        return f"{said}; {seldom}" if said else seldom

    @property
    def trouble(self) -> str:
        """Why there is no power, or why most readings were refused; "" if neither is the case."""
        refused = sum(self.refused.values())
        if self.mean_w is None:
            return "; ".join(self.refused) or "no reading came in time"
        if refused <= len(self.power_w):
            return ""
        return f"more readings were refused than believed: {'; '.join(self.refused)}"


class Meter:
    """Reads a source in a thread, which must start where the source can be reached.

    Without a source it does nothing.
    """

    def __init__(self, source: Source | None) -> None:
        self.taken: Taken | None = None
        """Result of `counting`; None before that."""
        self._source = source
        self._over = threading.Event()
        self._watched: list[Watched] = []
        self._zero_s = math.nan
        """Time, as `_now_s` returns it, from which `watch` counts."""
        self._thread = threading.Thread(target=self._watch, name="power")

    def __enter__(self) -> Self:
        """Begin to read."""
        if self._source is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reading, even if nothing was counted."""
        self._over.set()
        if self._source is not None:
            self._thread.join(_END_S)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count the energy of the work in this context; one last reading is taken at its end."""
        began = Stamp(steady.unix_ns())
        yield
        seconds = (steady.unix_ns() - began.unix_ns) / 1e9
        self._over.set()
        if self._source is None:
            return
        self._thread.join(_END_S)
        self.taken = Taken(seconds=seconds, began=began)
        for one in self._watched:
            since_s = began.unix_ns / 1e9 - self._zero_s
            kept = [
                (at - since_s, power)
                for at, power in zip(one.at_s, one.power_w, strict=True)
                if at > since_s
            ]
            self.taken = Taken(
                seconds=seconds,
                began=began,
                at_s=tuple(at for at, _ in kept),
                power_w=tuple(power for _, power in kept),
                description=one.description,
                refused=dict(one.refused),
            )

    def _watch(self) -> None:
        assert self._source is not None
        self._watched = watch(
            {"source": self._source},
            seconds=_MOST_S,
            every_s=_EVERY_S,
            clock=_now_s,
            pause=self._over.wait,
            over=self._over.is_set,
            each_look=self._count_from,
        )

    def _count_from(self, at_s: float) -> None:
        if math.isnan(self._zero_s):
            self._zero_s = _now_s() - at_s


def _now_s() -> float:
    return steady.unix_ns() / 1e9
