"""Power and energy of one run, by a meter of the host on which it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Protocol, Self

from aferir.model.record import TIME, Sample, Series, Warning
from aferir.model.stamps import Stamp

POWER, ENERGY, PER_UNIT = "power_w", "energy_j", "energy_per_unit_j"
"""Mean power of the host during the run, its energy, and its energy for each unit of work."""
ERROR = "power_largest_error_w"
"""Metric: largest error of `power_w` that follows from the meter's resolution and accuracy, if
known.
"""
PER_SECOND = "/s"
"""Ending by which the unit of a rate is recognised, as in `B/s`."""


class Taken(Protocol):
    """Power and energy that a meter measured during the work only."""

    @property
    def mean_w(self) -> float | None:
        """Mean power in W; None without a valid reading."""
        ...

    @property
    def energy_j(self) -> float | None:
        """Energy in J; None without a valid reading."""
        ...

    @property
    def largest_error_w(self) -> float:
        """Largest error of the mean by the meter itself, in W; 0: unknown."""
        ...

    @property
    def worth(self) -> str:
        """Uncertainties and assumptions of the power; "" if none are known."""
        ...

    @property
    def trouble(self) -> str:
        """Why there is no power, or why most readings were refused; "" if neither is the case."""
        ...

    @property
    def at_s(self) -> Sequence[float]:
        """Time of each valid reading in s since the work began."""
        ...

    @property
    def power_w(self) -> Sequence[float]:
        """Power of each valid reading in W."""
        ...

    @property
    def began(self) -> Stamp:
        """Time at which the work began."""
        ...


class Meter(Protocol):
    """A meter that reads its source within a block, and counts the energy of the work in another.

    `aferir.power.meter` has one.
    """

    @property
    def taken(self) -> Taken | None:
        """Result of `counting`; None before its end, or without a source."""
        ...

    def __enter__(self) -> Self:
        """Begin to read the meter."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop reading the meter."""
        ...

    def counting(self) -> AbstractContextManager[None]:
        """Count the energy of the work in this block."""
        ...


class Found:
    """Power and energy of the run, available after the block of `metered`."""

    samples: tuple[Sample, ...] = ()
    warnings: tuple[Warning, ...] = ()
    series: tuple[Series, ...] = ()


@contextmanager
def metered(make: Callable[[], Meter] | None) -> Iterator[Found]:
    """Read the meter that `make` returns during the block; does nothing if `make` is None."""
    found = Found()
    if make is None:
        yield found
        return
    with make() as meter:
        with meter.counting():
            yield found
        found.samples = samples(meter.taken)
        found.warnings = warnings(meter.taken)
        found.series = curve(meter.taken)


def samples(taken: Taken | None) -> tuple[Sample, ...]:
    """Power and energy of the host; none without a valid reading."""
    if taken is None or taken.mean_w is None or taken.energy_j is None:
        return ()
    error_w = taken.largest_error_w
    return (
        Sample(POWER, taken.mean_w, "W", "host"),
        *((Sample(ERROR, error_w, "W", "host"),) if error_w else ()),
        Sample(ENERGY, taken.energy_j, "J", "host"),
    )


def warnings(taken: Taken | None, whose: str = "power") -> tuple[Warning, ...]:
    """Warnings about the error of the power, or about why it is missing or mostly refused."""
    if taken is None:
        return ()
    found = []
    if taken.trouble:
        code = "no-power" if taken.mean_w is None else "power-refused"
        found.append(Warning(code, f"{whose}: {taken.trouble}", "try `aferir power watch`"))
    if taken.worth:
        found.append(Warning("power-is-worth", f"{whose}: {taken.worth}"))
    return tuple(found)


def curve(taken: Taken | None) -> tuple[Series, ...]:
    """Power of the host over time, with the time of the run's start; none without a reading."""
    if taken is None or not taken.power_w:
        return ()
    power = Series(
        metric=POWER,
        unit="W",
        values=tuple(taken.power_w),
        along=TIME,
        along_unit="s",
        at=tuple(taken.at_s),
        began=taken.began,
    )
    return (power,)


def per_unit(figures: Sequence[Sample], observed: Sequence[Sample]) -> tuple[Sample, ...]:
    """Energy for each unit of work of the first rate that the program reports, e.g. J/B.

    The rate is of the program's measured part, so that mean power over rate is used and not the
    energy of the whole run.
    """
    power = next((one.value for one in observed if one.metric == POWER), None)
    rate = next((one for one in figures if one.unit.endswith(PER_SECOND) and one.value > 0), None)
    if power is None or rate is None:
        return ()
    unit = f"J/{rate.unit.removesuffix(PER_SECOND)}"
    return (Sample(PER_UNIT, power / rate.value, unit, "host"),)
