"""Progress of a run on standard error: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from aferir.cli.console import console
from aferir.model.plan import Cell
from aferir.model.record import Record

_LINE_EVERY_S = 60.0


class RunProgress:
    """Implements `aferir.runner.Progress`."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, budget_s: float = math.inf
    ) -> None:
        """Start a display whose estimated time left is at most what remains of `budget_s`."""
        self._clock = clock
        self._budget_s = budget_s
        self._begun_s: float | None = None
        self._next_line_s = -math.inf
        self._console = console(stderr=True)
        self._terminal = sys.stderr.isatty()
        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.description}"),
            TextColumn("[dim]{task.fields[left]}[/]"),
            console=self._console,
            transient=True,
            disable=not self._terminal,
        )
        self._task: TaskID = self._bar.add_task("preparing", total=1, left="")
        self._round = ""
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def preparing(self, text: str) -> None:
        """Show a step that may take seconds; without a terminal, equal ones once."""
        self._bar.update(self._task, description=text)
        if not self._terminal and text not in self._said:
            self._said.add(text)
            self._line(text)

    def round_started(self, number: int, total: int, warmup: bool) -> None:
        """Remember the round, which later lines name, and the time at which the first one began."""
        self._begun_s = self._clock() if self._begun_s is None else self._begun_s
        self._round = f"warm-up {number}" if warmup else f"round {number} of at most {total}"

    def cell_started(self, cell: Cell, index: int, total: int, eta_s: float | None) -> None:
        """Show the cell, the progress of the run, and the estimated time left."""
        begun_s = self._clock() if self._begun_s is None else self._begun_s
        budget_s = max(0.0, self._budget_s - (self._clock() - begun_s))
        left = "" if eta_s is None else f"about {_span(min(eta_s, budget_s))} left"
        self._bar.update(
            self._task,
            description=f"{self._round}: {cell.id}",
            completed=index - 1,
            total=max(total, index),
            left=left,
        )
        if not self._terminal and self._clock() >= self._next_line_s:
            self._next_line_s = self._clock() + _LINE_EVERY_S
            self._line(f"[{index}/{total}] {self._round}: {cell.id}  {left}".rstrip())

    def cell_finished(self, record: Record) -> None:
        """Report a failure, each reason once; successes are not reported."""
        if record.failure is not None and record.failure.message not in self._said:
            self._said.add(record.failure.message)
            self._line(f"{record.cell}: {record.failure.message}")
            if record.failure.remedy:
                self._line(f"  remedy: {record.failure.remedy}")

    def note(self, text: str) -> None:
        """Show a message for the user."""
        self._line(text)

    def _line(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
