"""Keeps connections alive by one thread for all hosts, which never waits for any of the hosts."""

from __future__ import annotations

import contextlib
import threading
from typing import Protocol

ALIVE_S = 3.0
"""Period in s of keep-alive messages."""


class Attended(Protocol):
    """A connection that is kept alive."""

    def greet(self) -> None:
        """Send a keep-alive message unless that would have to wait. Errors: OSError if broken."""
        ...


class Attendant:
    """Keeps connections alive by one thread, which runs while there is any connection."""

    def __init__(self, period_s: float = ALIVE_S) -> None:
        self._period_s = period_s
        self._lines: dict[int, Attended] = {}
        self._changing = threading.Lock()
        self._idle = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, line: Attended) -> None:
        """Send keep-alive messages on this connection from now on."""
        with self._changing:
            self._lines[id(line)] = line
            if self._thread is None:
                self._idle = threading.Event()
                self._thread = threading.Thread(target=self._stay, args=(self._idle,), daemon=True)
                self._thread.start()

    def remove(self, line: Attended) -> None:
        """Stop sending keep-alive messages on this connection; unknown ones are ignored."""
        with self._changing:
            self._lines.pop(id(line), None)
            if not self._lines and self._thread is not None:
                self._thread = None
                self._idle.set()

    def _stay(self, idle: threading.Event) -> None:
        while not idle.wait(self._period_s):
            with self._changing:
                lines = list(self._lines.values())
            for line in lines:
                with contextlib.suppress(OSError):
                    line.greet()
