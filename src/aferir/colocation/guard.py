"""The guard: a separate process that restores everything if the controller dies.

It outlives the controller and its terminal, waits for the controller's death on a pidfd, and undoes
what is recorded. If the guard is killed, the controller starts another; if both are killed, `aferir
clean`, the next start, or ExecStopPost of the systemd unit restores everything.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from aferir.colocation import attributes, remembered
from aferir.errors import ProgramError, RefusedError
from aferir.linux import journal, process
from aferir.linux.journal import Entry

ADDRESS = "127.0.0.1"
METRICS = "/metrics"
"""Path in the URL under which metrics are served."""
_STARTING_S = 60.0
_TRIES = 5
_AGAIN_S = 0.2


def listen(port: int) -> socket.socket:
    """Listen on a port of 127.0.0.1, for metrics; 0: a free one.

    Errors: RefusedError if it is in use.
    """
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as error:
        raise RefusedError(
            f"metrics cannot be served on port {port} of {ADDRESS}: {error}",
            remedy="name another with --metrics-port, or 0 for a free one",
        ) from None


def metrics_file(entry: str) -> Path:
    """Path of the file of metrics that a run's guard serves; `entry` is the run's journal entry."""
    return remembered.path(entry).with_suffix(".metrics")


class Guard:
    """Starts, replaces and ends the guard, for the controller; a context for the main thread."""

    def __init__(self, entry: Entry, listening: socket.socket | None = None) -> None:
        """Start the guard and wait until it watches. Errors: ProgramError if it does not start.

        `listening`: socket on which it serves the run's metrics; None: it serves none.
        """
        self._entry = entry
        self._listening = listening
        self._child = _start(entry, listening)
        _wait_ready(self._child)

    @property
    def pid(self) -> int:
        """Process ID of the present guard."""
        return self._child.pid

    def keep(self) -> bool:
        """Start another guard if the present one has died; returns whether it has."""
        if self._child.poll() is None:
            return False
        if self._child.stdout is not None:
            self._child.stdout.close()
        self._child = _start(self._entry, self._listening)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the guard once everything is restored or still in the journal."""
        self._child.kill()  # it ignores other signals
        process.end(self._child)


def _start(entry: Entry, listening: socket.socket | None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "aferir", "colocate", "guard", entry.id, str(entry.owner_pid)]
    command.append(str(entry.owner_started))
    handles = [listening.fileno()] if listening else []
    if handles:
        command += ["--metrics-socket", str(handles[0])]
    return process.start(command, stdout=subprocess.PIPE, handles=handles, survives_us=True)


def _wait_ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], _STARTING_S)
    if not ready or not child.stdout.readline():
        process.end(child)
        raise ProgramError(
            "the guard that would put everything back does not start; nothing was changed",
            remedy="see whether `aferir colocate guard --help` runs, and `aferir doctor`",
        )


def watch(identifier: str, owner: int, started: int) -> list[str]:
    """Body of the guard: wait for the controller's end and undo what is left; returns problems."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    with attributes.going_first():
        try:
            controller = os.pidfd_open(owner)
        except ProcessLookupError:
            controller = -1
        with contextlib.suppress(OSError):
            print("watching", flush=True)  # noqa: T201 - to the controller, which waits for it
        if controller >= 0 and journal.start_time(owner) == started:
            _wait_end(controller)
        return _undo(identifier)


def _wait_end(controller: int) -> None:
    while not select.select([controller], [], [], None)[0]:
        pass


def _undo(identifier: str) -> list[str]:
    problems: list[str] = []
    for entry in journal.entries():
        if entry.id == identifier and entry.kind == remembered.KIND:
            for _ in range(_TRIES):
                problems = remembered.undo(entry)
                if not problems:
                    break
                time.sleep(_AGAIN_S)
    return problems
