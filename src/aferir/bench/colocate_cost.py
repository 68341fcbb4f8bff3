"""What the controller of a co-location costs: CPU time at ten decisions a second, and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir import process
from aferir.bench.options import Note
from aferir.colocation.usage import most_resident_bytes, process_seconds
from aferir.environments import scratch
from aferir.errors import MissingError, ProgramError
from aferir.model.bench import Figure

_CPU = 0.01
_MEMORY_BYTES = 40e6
_SECONDS, _QUICK_SECONDS = 60.0, 15.0
_WINDOWS = 6
_SETTLING_S = 5.0
_ANSWERS = 100
_SERVICE = """
import sys, threading, time
def work():
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("worker")
    while True:
        time.sleep(0.2)
        sum(range(20000))
for _ in range(20):
    threading.Thread(target=work, daemon=True).start()
for _ in range(60):
    threading.Thread(target=time.sleep, args=(10000,), daemon=True).start()
with open(sys.argv[1], "a", buffering=1) as log:
    print("ready", flush=True)
    k = 0
    while True:
        time.sleep(0.01)
        k += 1
        log.write('{"t": %d}\\n' % (10 + k * 37 % 90))
"""
"""80 threads, 20 of which work and are critical, and 100 answers a second of 10 to 99 ms."""


def figures(note: Note, *, quick: bool) -> list[Figure]:
    """CPU share, the median of six windows, and the most memory that was resident."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    with scratch.folder() as folder, _running(folder) as child:
        time.sleep(_SETTLING_S)
        shares = []
        for window in range(_WINDOWS):
            note("the controller's own use", window / _WINDOWS)
            before, started = _cpu_s(child.pid), time.monotonic()
            time.sleep(seconds / _WINDOWS)
            shares.append((_cpu_s(child.pid) - before) / (time.monotonic() - started))
        memory = _most_resident(child.pid)
    share = sorted(shares)[len(shares) // 2]
    return [
        Figure(
            name="controller.cpu",
            value=share,
            unit="cores",
            n=len(shares),
            target=f"<= {_CPU:g}",
            holds=share <= _CPU,
            note=f"ten decisions a second, 80 threads, 20 critical, {_ANSWERS} answers a second; "
            f"{min(shares):.4f} to {max(shares):.4f}",
        ),
        Figure(
            name="controller.memory",
            value=memory,
            unit="B",
            n=1,
            target=f"<= {_MEMORY_BYTES:g}",
            holds=memory <= _MEMORY_BYTES,
            note="most that was resident (VmHWM)",
        ),
    ]


@contextmanager
def _running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The controller beside its service. Errors: MissingError where it does not start."""
    log = folder / "answers"
    log.touch()
    served = process.start([sys.executable, "-c", _SERVICE, str(log)], stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        served.stdout.readline()
        child = process.start(
            [
                *(sys.executable, "-m", "aferir", "colocate", "--service", f"pid:{served.pid}"),
                *("--sla", "p95=200ms", "--latency", f"json:{log}#t@ms", "--threads", "^worker"),
                *("--", "sh", "-c", "while :; do :; done"),
            ]
        )
        try:
            yield child
        finally:
            process.end(child)
    finally:
        process.end(served, grace_s=0.1)


def _cpu_s(pid: int) -> float:
    used = process_seconds(pid)
    if used is None:
        raise MissingError("`aferir colocate` does not run here", remedy="run it to see why")
    return used


def _most_resident(pid: int) -> float:
    found = most_resident_bytes(pid)
    if not found:
        raise ProgramError("the controller ended while it was measured")
    return float(found)
