"""Published tables, the figures of a run that answer them, and verdicts. Frozen values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from aferir.model.plan import Parameter
from aferir.report.model import Evaluation
from aferir.statistics.estimates import Estimate
from aferir.statistics.intervals import Interval

Fields = Mapping[str, str]
"""One row of a CSV file: text by the name of its column."""
_ALIKE = 0.01
"""Relative difference up to which two numbers count as the same condition, since published ones are
rounded to two digits or more.
"""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A run in which figures for published rows are searched, and its machine."""

    evaluation: Evaluation
    processors: int | None = None
    """Processors of the machine; None: unknown."""


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a run, in the unit of the published row."""

    environment: str
    group: str
    emulated: bool
    figure: Estimate
    interval: Interval | None = None
    """Interval of the figure, if it does not follow from the estimate's error, e.g. that of a
    median.
    """
    conditions: dict[str, Parameter]
    """Parameters, factors and keys of the environment, by name."""


class Condition(msgspec.Struct, frozen=True):
    """One condition of a publication, to be compared with the run's."""

    name: str
    there: Parameter
    unset: Parameter | None = None
    """Value that counts if the run does not set the condition: the program's default."""

    def here(self, ours: Ours) -> Parameter | None:
        """Value of the condition in the run; None if it is not known."""
        return ours.conditions.get(self.name, self.unset)

    def holds(self, ours: Ours) -> bool:
        """True if the condition has the published value in the run."""
        here = self.here(ours)
        if _is_number(here) and _is_number(self.there):
            return math.isclose(float(here or 0), float(self.there), rel_tol=_ALIKE)
        return here == self.there

    def said(self, ours: Ours) -> str:
        """Description of the difference, such as `class S here, C there`."""
        here = self.here(ours)
        shown = "unknown" if here is None else _shown(here)
        return f"{self.name} {shown} here, {_shown(self.there)} there"


Finder = Callable[[Seen], Sequence[Ours]]
"""Function that returns a run's figures comparable with a published row; empty: there is none."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One published figure, with the way in which a run answers it."""

    what: str
    value: float | None
    """Figure in `unit`; None: the row has only words."""
    unit: str
    """Base unit, `%`, or `1` for a pure number."""
    sd: float | None = None
    """Published standard deviation in `unit`."""
    n: int | None = None
    """Published number of runs; with `sd`, it gives the error of the mean."""
    extent: tuple[float, float] | None = None
    """Published smallest and largest run."""
    source: str
    answer: str
    """Experiment or program of aferir that measures the row's figure, or the reason why there is
    none.
    """
    find: Finder | None = None
    """Function that finds the row's figure in a run; None: aferir does not measure it."""
    pick: tuple[Condition, ...] = ()
    """Conditions that distinguish the row from the others of its table."""
    alike: tuple[Condition, ...] = ()
    """Conditions that a run must share with the publication for figures to be comparable."""

    def estimate(self) -> Estimate | None:
        """The figure with the error of its mean; exact if no spread was published."""
        if self.value is None:
            return None
        if self.sd is None or self.n is None:
            return Estimate(value=self.value, error=0.0)
        error = self.sd / math.sqrt(self.n)
        return Estimate(value=self.value, error=error, freedom=self.n - 1, n=self.n)


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Declaration of one file of `reference/`."""

    name: str
    """Name of the file without `.csv`."""
    title: str
    differs: str
    """Differences that no condition covers: processors, hosts and programs of the publication."""
    rows: Callable[[Sequence[Fields]], Sequence[Row]]
    """Function that declares the rows, at least one for each row of the file."""


class Known(msgspec.Struct, frozen=True):
    """A published table that was read from its file."""

    table: Table
    rows: tuple[Row, ...]


Verdict = Literal["comparable", "not comparable", "not measured"]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of the run beside the published one."""

    environment: str
    group: str
    emulated: bool
    n: int
    value: float
    interval: Interval | None
    relative: bool
    """True if `difference` is the quotient of ours and theirs, False if it is ours minus theirs, as
    for percent and for figures that are not positive.
    """
    difference: float | None = None
    """Quotient or difference of the two figures; None if they do not compare."""
    difference_interval: Interval | None = None
    """Interval of `difference`; None also if the run's figure has no interval."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One published row with its verdict."""

    what: str
    value: float | None
    unit: str
    sd: float | None
    n: int | None
    extent: tuple[float, float] | None
    source: str
    verdict: Verdict
    why: str = ""
    """Reason for a verdict other than `comparable`."""
    ours: tuple[Compared, ...] = ()


class TableBeside(msgspec.Struct, frozen=True, kw_only=True):
    """One published table with at least one figure that the run measured, too."""

    name: str
    title: str
    differs: str
    rows: tuple[Beside, ...]


def _is_number(value: Parameter | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Parameter) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
