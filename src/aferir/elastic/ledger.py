"""What became of every client, on the disk before anybody is told: it outlives Front."""

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
    """One event; `subject` is the number of a client or of a Node, `at_s` the time of day."""

    at_s: float
    event: Event
    subject: int = -1


class Ledger:
    """An append-only file of events, a line of JSON each.

    A file that an earlier Front left is gone on with: clients that it had and did not settle
    have failed, since the new one knows nothing of them.
    """

    def __init__(self, path: Path, now_s: float) -> None:
        """Errors: OSError where the file cannot be written."""
        self.counts: Counter[str] = Counter()
        self.next_client = 0
        lines = _read(path)
        # A line that was torn by a crash must not swallow the next one.
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
        """Nothing but itself."""
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
        """Append one event, and hand it to the kernel."""
        self.counts[event] += 1
        line = msgspec.json.encode(Line(round(now_s, 6), event, subject)).decode()
        self._stream.write(line + "\n")
        self._stream.flush()

    def books(self) -> Books:
        """Every client of this Front and of those before it."""
        counts = {name: self.counts[name] for name in (_RECEIVED, *_OUTCOMES)}
        return Books(**counts)


def _read(path: Path) -> list[Line]:
    """Whole lines of the file; none where there is no file."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_bytes().splitlines():
        try:
            lines.append(msgspec.json.decode(text, type=Line))
        except msgspec.DecodeError:
            continue
    return lines
