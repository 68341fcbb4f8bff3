"""Writes a run's status once a second, and its metrics to the files requested."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aferir.colocation import metrics, restores, status
from aferir.colocation.job import Tick
from aferir.colocation.metrics import Totals
from aferir.linux.journal import Entry

_EVERY_S = 1.0


class Reporter:
    """Reports of one run; a problem with a file is returned once and never ends the run."""

    def __init__(self, entry: Entry, service: str, files: Sequence[Path] = ()) -> None:
        """Reports go to the status file and, as OpenMetrics text, to `files`."""
        self._entry = entry
        self._service = service
        self._files = files
        self._due_s = 0.0

    def report(self, tick: Tick, totals: Totals) -> str:
        """Write all files if a period has passed; returns a problem or ""."""
        if tick.state.time_s < self._due_s:
            return ""
        self._due_s = tick.state.time_s + _EVERY_S
        try:
            status.write(self._entry, self._service, tick, totals)
            if self._files:
                written = metrics.text(self._service, tick, totals, restores.read())
            for file in self._files:
                metrics.replace(file, written)
        except (OSError, ValueError) as error:  # a ValueError: no name of a file, or no Unicode
            return f"what is told to operators cannot be written: {error}"
        return ""
