"""Interface by which a run reports its progress."""

from __future__ import annotations

from typing import Protocol

from aferir.model.plan import Cell
from aferir.model.record import Record


class Progress(Protocol):
    """Receives progress; called from the thread of the run, and must not raise."""

    def preparing(self, text: str) -> None:
        """Called when a step starts that may take seconds: a check, an image, an allocation."""
        ...

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        """Called when round `number` (from 1) of at most `total` rounds of its kind starts."""
        ...

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Called when repetition `index` (from 1) of at most `total` in the run starts.

        `eta_s` is the estimated time in s until the run ends; None if it is unknown.
        """
        ...

    def cell_finished(self, record: Record) -> None:
        """Called when a repetition has been recorded."""
        ...

    def note(self, text: str) -> None:
        """Receive a message for the user, e.g. about an environment that is left out."""
        ...


class Silent:
    """Progress that is discarded."""

    def preparing(self, text: str) -> None:
        """Discard the message."""

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        """Ignore the start of a round."""

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Ignore the start of a repetition."""

    def cell_finished(self, record: Record) -> None:
        """Ignore the end of a repetition."""

    def note(self, text: str) -> None:
        """Discard the message."""
