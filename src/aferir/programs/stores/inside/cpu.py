"""User and system CPU time of the measured programs, as accounted by the kernel."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """CPU time in seconds, by mode."""

    user_s: float
    system_s: float

    def __add__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_s + other.user_s, self.system_s + other.system_s)

    def __sub__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_s - other.user_s, self.system_s - other.system_s)


def of_ended() -> CpuTime:
    """CPU time of all children that have ended and were waited for (getrusage(2))."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CpuTime(usage.ru_utime, usage.ru_stime)


def of_running(pid: int) -> CpuTime:
    """CPU time of a running process with all its threads (proc(5), /proc/PID/stat)."""
    return parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))


def parse_stat(text: str) -> CpuTime:
    """User and system time; fields are counted after the name, which may contain anything."""
    fields = text.rpartition(")")[2].split()
    return CpuTime(int(fields[11]) / TICKS_PER_S, int(fields[12]) / TICKS_PER_S)
