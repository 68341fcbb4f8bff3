"""Figures of a successful run, and explanations of failures."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

from aferir.programs.stores.inside.cpu import CpuTime

_FULL = re.compile(
    r"No space left on device|disk is full|errno:? 28\b|errcode: 28\b|The table .* is full",
    re.IGNORECASE,
)
_OPERATION_BYTES = 512
_LONGEST_LOG = 2**16
_FRAME = re.compile(r"at [\w.$/<>]+\(|\.\.\. \d+ more$")
"""A line of a Java stack trace that names a call, not the error."""


@dataclass(frozen=True)
class Figures:
    """Figures of a run whose results are correct."""

    duration_s: float
    """Duration of the measured part in seconds."""
    requests: int
    """Searches, transactions or operations of the store in the measured part."""
    bytes_read: int
    """Bytes that the programs read in the measured part, from cache or device."""
    bytes_written: int
    setup_s: float
    """Seconds before the measured part, for creating and loading the data."""
    cpu: CpuTime
    """CPU time of the programs in the measured part."""
    others: dict[str, float | str] = field(default_factory=dict)
    """Figures that only this program reports."""

    def printed(self) -> dict[str, float | str]:
        """Values for the line of JSON; an operation is 512 bytes read or written (Akram 2012)."""
        return {
            "duration_s": self.duration_s,
            "setup_s": self.setup_s,
            "requests": self.requests,
            "throughput_rps": self.requests / self.duration_s,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "user_s": self.cpu.user_s,
            "system_s": self.cpu.system_s,
            "operations": (self.bytes_read + self.bytes_written) / _OPERATION_BYTES,
            **self.others,
        }


class FailedError(Exception):
    """A program failed; the message says why."""


class WrongError(Exception):
    """All programs ran, but the results are wrong."""


def explain(name: str, code: int, log: Path, *, killed_before: int) -> str:
    """Why a program ended with `code` (negative: a signal), from its log and kernel counters.

    `killed_before`: value of `out_of_memory_kills` before it started.
    """
    text = tail(log)
    if _FULL.search(text):
        return f"the disk is full: {name} found no space for its files"
    if code == -signal.SIGKILL and out_of_memory_kills() > killed_before:
        return f"out of memory: the kernel killed {name}"
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not _FRAME.match(line)]
    return f"{name} {how}" + (f": {lines[-1][:300]}" if lines else "")


def out_of_memory_kills() -> int:
    """Number of processes that the kernel has killed because memory ran out, anywhere.

    The count is that of the whole host, including groups with a limit of their own (proc(5),
    /proc/vmstat); -1 if the kernel does not report it.
    """
    for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return -1


def tail(log: Path) -> str:
    """The last 64 KiB of a log; "" if there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LONGEST_LOG))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
