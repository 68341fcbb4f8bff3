"""How a cell ends that does not end well, in words."""

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


@dataclass(frozen=True)
class Figures:
    """What was measured of a run that is right."""

    duration_s: float
    """Duration of the measured part."""
    requests: int
    """Searches, transactions or operations of the store that were done in it."""
    bytes_read: int
    """Bytes of the programs' own reads in it, whoever answered them: cache or device."""
    bytes_written: int
    setup_s: float
    """Before it: making the data and loading it."""
    cpu: CpuTime
    """Processor time of the programs, while they read and wrote that."""
    others: dict[str, float | str] = field(default_factory=dict)
    """What this program alone tells."""

    def printed(self) -> dict[str, float | str]:
        """As in the line of JSON; an operation is 512 bytes read or written (Dutra 2015)."""
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
    """A program could not do its work; the message says why."""


class WrongError(Exception):
    """Everything ran, and what came out is wrong."""


def explain(name: str, code: int, log: Path, *, killed_before: int) -> str:
    """Why a program ended with `code` (negative: a signal), from its log and the kernel's counts.

    `killed_before` is `out_of_memory_kills` of before it started.
    """
    text = tail(log)
    if _FULL.search(text):
        return f"the disk is full: {name} found no space for its files"
    if code == -signal.SIGKILL and out_of_memory_kills() > killed_before:
        return f"out of memory: the kernel killed {name}"
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{name} {how}" + (f": {lines[-1][:300]}" if lines else "")


def out_of_memory_kills() -> int:
    """Processes that the kernel has killed for want of memory, also in a control group's limit.

    The count is the whole host's (proc(5), /proc/vmstat); -1 where the kernel does not tell.
    """
    for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return -1


def tail(log: Path) -> str:
    """The last lines of a log; nothing where there is none."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LONGEST_LOG))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""
