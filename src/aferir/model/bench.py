"""The form in which every bench prints its figures."""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure of aferir, with its target and the figure of a peer if there are any."""

    name: str
    value: float | None
    """Measured value in `unit`; None if it could not be measured, for the reason in `note`."""
    unit: str
    n: int
    interval: tuple[float, float] | None = None
    """95 % confidence interval of `value`."""
    target: str = ""
    """Target in a form that people and programs can read, e.g. `>= 1.5`."""
    holds: bool | None = None
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    """Ratio of our value to the peer's; more is better unless `note` says otherwise."""
    note: str = ""


class BenchResult(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one bench."""

    bench: str
    quick: bool
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True if no target is missed."""
        return all(figure.holds is not False for figure in self.figures)
