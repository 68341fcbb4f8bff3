"""User and system time of the programs that are measured, as the kernel accounts for it."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """Seconds of processors."""

    user_s: float
    system_s: float

    def __add__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_s + other.user_s, self.system_s + other.system_s)

    def __sub__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_s - other.user_s, self.system_s - other.system_s)


def of_ended() -> CpuTime:
    """Processor time of all programs that were started and waited for here (getrusage(2))."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CpuTime(usage.ru_utime, usage.ru_stime)


def of_running(pid: int) -> CpuTime:
    """Processor time of one that still runs, with all its threads (proc(5), /proc/PID/stat)."""
    return parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))


def parse_stat(text: str) -> CpuTime:
    """User and system time, counted after the program's name, which may hold anything."""
    fields = text.rpartition(")")[2].split()
    return CpuTime(int(fields[11]) / TICKS_PER_S, int(fields[12]) / TICKS_PER_S)
