"""Measures how fast the machine's CPUs are from moment to moment.

Other guests on a host's cores slow this machine down, by up to half and for seconds at a time, and
do not affect all compared arms equally. A short task, timed on every CPU in its own CPU time,
measures the speed independently of other processes on this machine. The task is compression,
because its speed correlates with that of xz by 0.99, but the speed of arithmetic only by 0.67; for
gcc, both do well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean

from aferir.linux import process, scratch

_FIELDS = 2
_BYTES = 20_000
_TASK = """
import os, sys, time, zlib
data = open(sys.executable, "rb").read({bytes})
os.sched_setaffinity(0, [int(sys.argv[1])])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
log = open(sys.argv[2], "w", buffering=1)
print("ready", flush=True)
while True:
    time.sleep(0.05)
    begun = time.thread_time()
    zlib.compress(data)
    log.write("%f %f\\n" % (time.monotonic(), 1 / (time.thread_time() - begun)))
"""
"""Program of the timed task, which takes somewhat more than 1 % of a CPU. It runs at fixed
intervals, whatever the arm does, so that no arm affects when the speed is sampled."""


class Speed:
    """Speed of every CPU, in tasks per second of CPU time."""

    def __init__(self, logs: list[Path]) -> None:
        self._logs = logs

    def mean(self, since_s: float, until_s: float) -> float:
        """Mean over the CPUs between two times (time.monotonic, seconds); 0: unknown."""
        found = [
            float(row[1])
            for log in self._logs
            for row in map(str.split, log.read_text(encoding="ascii").splitlines())
            if len(row) == _FIELDS and since_s < float(row[0]) < until_s
        ]
        return fmean(found) if found else 0.0


def now(seconds: float = 1.0) -> float:
    """Mean speed over the CPUs during the next `seconds`; 0: unknown."""
    with scratch.folder() as folder, sampling(folder) as speed:
        begun = time.monotonic()
        time.sleep(seconds)
        return speed.mean(begun, time.monotonic())


@contextmanager
def sampling(folder: Path) -> Iterator[Speed]:
    """Sample the speed of every CPU 20 times a second. Needs CAP_SYS_NICE."""
    with ExitStack() as stack:
        logs = []
        for cpu in sorted(os.sched_getaffinity(0)):
            log = folder / f"speed-{cpu}"
            task = [sys.executable, "-c", _TASK.format(bytes=_BYTES), str(cpu), str(log)]
            child = process.start(task, stdout=subprocess.PIPE)
            stack.callback(process.end, child, grace_s=0.1)
            assert child.stdout is not None
            if child.stdout.readline():  # nothing: it may not run as it must, in a group of ours
                logs.append(log)
        yield Speed(logs)
