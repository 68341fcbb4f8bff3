"""Measures the response time of a small task of the system, such as a shell behind ssh.

A simulated user types ten times a second. The shell itself reports when it has responded, so the
delay until the user's process reads that does not matter.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.linux import process

_FIELDS = 2
_SHELL = """
import sys, time
log = open(sys.argv[1], "w", buffering=1)
for line in sys.stdin:
    sum(range(3000))
    log.write("%s %f\\n" % (line.strip(), time.monotonic() - float(line)))
"""
_TYPIST = """
import os, subprocess, sys, time
shell = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=-1, start_new_session=True)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
print("ready", flush=True)
while True:
    time.sleep(0.1)
    shell.stdin.write(b"%f\\n" % time.monotonic())
    shell.stdin.flush()
"""
"""Program that types into a shell. The shell has a session of its own, as behind ssh:
autogroups are per session (sched(7))."""


class Typing:
    """Response times of the shell so far, in order of completion."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def answers(self, since_s: float) -> tuple[float, ...]:
        """Response times in s to input that was typed after `since_s` (time.monotonic)."""
        rows = [line.split() for line in self._log.read_text(encoding="ascii").splitlines()]
        return tuple(
            float(row[1]) for row in rows if len(row) == _FIELDS and float(row[0]) > since_s
        )


@contextmanager
def typing(folder: Path) -> Iterator[Typing]:
    """Type in the background while the context is open. Needs CAP_SYS_NICE."""
    log = folder / "typed"
    child = process.start([sys.executable, "-c", _TYPIST, _SHELL, str(log)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield Typing(log)
    finally:
        process.end(child, grace_s=0.1)
