"""A log of every client's outcome, written before the client is answered; it survives Front."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from aferir.elastic.front import Books, Outcome

_RECEIVED = "received"
Event = Literal[
    "received",
    "served",
    "abandoned",
    "blocked",
    "failed",
    "allocated",
    "allocation-failed",
    "allocation-overdue",
    "released",
    "release-failed",
    "node-lost",
    "started",
]
_OUTCOMES: tuple[Outcome, ...] = ("served", "abandoned", "blocked", "failed")


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event; `subject` is the number of a client or a Node, `at_s` seconds since the epoch."""

    at_s: float
    event: Event
    subject: int = -1


class Ledger:
    """An append-only file of events, one line of JSON each.

    A file left by an earlier Front is continued: clients without an outcome in it count as failed,
    since the new Front does not know them.
    """

    def __init__(self, path: Path, now_s: float) -> None:
        """Open or create the file. Errors: OSError if it cannot be written."""
        self.counts: Counter[str] = Counter()
        self.next_client = 0
        lines = _read(path)
        # A line that a crash has truncated must not be joined with the next one.
        self._stream = path.open("a", encoding="utf-8")
        if path.stat().st_size:
            self._stream.write("\n")
        here: dict[int, None] = {}
        for line in lines:
            self.counts[line.event] += 1
            if line.event == _RECEIVED:
                here[line.subject] = None
                self.next_client = max(self.next_client, line.subject + 1)
            elif line.event in _OUTCOMES:
                here.pop(line.subject, None)
        self.write(now_s, "started")
        for client in here:
            self.write(now_s, "failed", client)

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; nothing more can be written."""
        self._stream.close()

    def write(self, now_s: float, event: Event, subject: int = -1) -> None:
        """Append one event and flush it to the kernel."""
        self.counts[event] += 1
        line = msgspec.json.encode(Line(round(now_s, 6), event, subject)).decode()
        self._stream.write(line + "\n")
        self._stream.flush()

    def books(self) -> Books:
        """Counts of all clients of this Front and of earlier ones."""
        counts = {name: self.counts[name] for name in (_RECEIVED, *_OUTCOMES)}
        return Books(**counts)


def _read(path: Path) -> list[Line]:
    """The file's complete lines; [] if there is no file."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_bytes().splitlines():
        try:
            lines.append(msgspec.json.decode(text, type=Line))
        except msgspec.DecodeError:
            continue
    return lines
