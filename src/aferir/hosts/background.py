"""A program that runs in an instance while its agent carries out other requests."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from aferir.environments.base import Instance
from aferir.errors import AferirError
from aferir.linux import wait

_TELL = 'echo $$ > "$1.new"; mv "$1.new" "$1"; shift; exec "$@"'
_STARTING_S = 60.0
"""Time limit in s for the program to start: one that starts later is not ended by `end`."""
_ENDING_S = 5.0


class Background:
    """A program on this host; `end` ends it and returns once it is gone."""

    def __init__(self, instance: Instance, line: Sequence[str], mark: Path) -> None:
        """Start `line`; the file `mark` then holds the number of its process."""
        self._mark = mark
        self._process: int | None = None
        command = ("sh", "-c", _TELL, "sh", str(mark), *line)
        self._thread = threading.Thread(target=self._run, args=(instance, command), daemon=True)
        self._thread.start()
        self._await_start()

    def end(self) -> None:
        """Send SIGTERM, then SIGKILL after 5 s; does nothing if it has ended already."""
        self._await_start()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process is not None and self._thread.is_alive():
                with suppress(OSError):
                    signal.pidfd_send_signal(self._process, number)
            self._thread.join(_ENDING_S)
        if self._process is not None:
            os.close(self._process)
            self._process = None
        self._mark.unlink(missing_ok=True)

    def _await_start(self) -> None:
        """Wait for the process, and hold it (pidfd_open(2)): its number may pass to another one."""
        wait.until(
            lambda: self._mark.exists() or not self._thread.is_alive(), wait.after(_STARTING_S)
        )
        if self._process is None:
            with suppress(OSError, ValueError):
                self._process = os.pidfd_open(int(self._mark.read_text(encoding="ascii")))

    @staticmethod
    def _run(instance: Instance, command: Sequence[str]) -> None:
        with suppress(AferirError, OSError):
            instance.run(command, check=False)
