"""What a run tells whoever watches it."""

from __future__ import annotations

from typing import Protocol

from aferir.model.plan import Cell
from aferir.model.record import Record


class Progress(Protocol):
    """Called from the run's own thread; must not raise."""

    def preparing(self, text: str) -> None:
        """Something is under way that may take seconds: a check, an image, an allocation."""
        ...

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        """Round `number`, from 1, out of at most `total` of its kind."""
        ...

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Repetition `index`, from 1, of at most `total` in the whole run; seconds left, about."""
        ...

    def cell_finished(self, record: Record) -> None:
        """It is recorded."""
        ...

    def note(self, text: str) -> None:
        """Something that the user should know now: an environment left out, a cell given up."""
        ...


class Silent:
    """Tells nobody."""

    def preparing(self, text: str) -> None:
        """Nothing."""

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        """Nothing."""

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Nothing."""

    def cell_finished(self, record: Record) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
