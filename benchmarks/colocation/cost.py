"""Measure the CPU time of a controller that decides ten times a second, or five, and its memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aferir.colocation.usage import most_resident_bytes, process_seconds
from aferir.errors import MissingError, ProgramError
from aferir.linux import process, scratch
from aferir.model.bench import Figure
from aferir.selftest.options import Note

_CPU = 0.01
_MEMORY_BYTES = 40e6
_SECONDS, _QUICK_SECONDS = 60.0, 15.0
_WINDOWS = 6
_SETTLING_S = 5.0
_SERVICE = """
import http.server, sys, threading, time
def work():
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write("worker")
    while True:
        time.sleep(0.2)
        sum(range(20000))
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(204)
        self.end_headers()
    def log_request(self, *_):
        pass
for _ in range(20):
    threading.Thread(target=work, daemon=True).start()
for _ in range(60):
    threading.Thread(target=time.sleep, args=(10000,), daemon=True).start()
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, args=(100,), daemon=True).start()
with open(sys.argv[1], "a", buffering=1) as log:
    print(server.server_address[1], flush=True)
    k = 0
    while True:
        time.sleep(0.01)
        k += 1
        log.write('{"t": %d}\\n' % (10 + k * 37 % 90))
"""
"""Source of a service with 82 threads, 20 of which work and are critical.

It logs 100 responses a second of 10 to 99 ms, and responds to every request.
"""
_ASKS = "request-clients"


def figures(note: Note, *, quick: bool) -> list[Figure]:
    """Return the CPU share by sensor, the median of six windows, and the largest memory."""
    seconds = (_QUICK_SECONDS if quick else _SECONDS) / _WINDOWS
    found, most = [], 0.0
    with scratch.folder() as folder, _serving(folder / "answers") as (pid, port):
        for sensor, latency in (
            ("log", f"json:{folder}/answers#t@ms"),
            ("probe", f"http://127.0.0.1:{port}/"),
        ):
            with _running(pid, latency) as ours:
                if sensor == "probe" and len(ours) < 2:
                    raise ProgramError("nobody asks the service, so that its price is not known")
                shares = []
                for window in range(_WINDOWS):
                    note(f"the controller's own use, with a {sensor}", window / _WINDOWS)
                    before, started = _cpu_s(ours), time.monotonic()
                    time.sleep(seconds)
                    shares.append((_cpu_s(ours) - before) / (time.monotonic() - started))
                most = max(most, _most_resident(ours))
            found.append(_share(sensor, sorted(shares)))
    return [
        *found,
        Figure(
            name="controller.memory",
            value=most,
            unit="B",
            n=len(found),
            target=f"<= {_MEMORY_BYTES:g}",
            holds=most <= _MEMORY_BYTES,
            note="most that was resident (VmHWM), with the sensor that takes more",
        ),
    ]


def _share(sensor: str, shares: list[float]) -> Figure:
    """Judge the median of the shares, which are sorted."""
    share = shares[len(shares) // 2]
    return Figure(
        name="controller.cpu" if sensor == "log" else f"controller.cpu.{sensor}",
        value=share,
        unit="cores",
        n=len(shares),
        target=f"<= {_CPU:g}",
        holds=share <= _CPU,
        note=f"ten decisions a second, five while nothing changes; 82 threads, "
        f"20 critical, latency by a {sensor}; "
        f"{shares[0]:.4f} to {shares[-1]:.4f}",
    )


@contextmanager
def _serving(log: Path) -> Iterator[tuple[int, int]]:
    """Run the service; yield its process ID and its port."""
    log.touch()
    served = process.start([sys.executable, "-c", _SERVICE, str(log)], stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        yield served.pid, int(served.stdout.readline())
    finally:
        process.end(served, grace_s=0.1)


@contextmanager
def _running(service: int, latency: str) -> Iterator[tuple[int, ...]]:
    """Run the controller beside the service; yield the process IDs to be measured once it settled.

    These are the controller's, and that of the process that sends requests for it, if there is one.
    """
    child = process.start(
        [
            *(sys.executable, "-m", "aferir", "colocate", "--service", f"pid:{service}"),
            *("--sla", "p95=200ms", "--latency", latency, "--threads", "^worker"),
            *("--", "sh", "-c", "while :; do :; done"),
        ]
    )
    try:
        time.sleep(_SETTLING_S)
        yield child.pid, *_asking_for(child.pid)
    finally:
        process.end(child)


def _asking_for(pid: int) -> list[int]:
    """List the children of the controller that send requests to the service (proc(5), children)."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(one) for one in children if Path(f"/proc/{one}/comm").read_text()[:-1] == _ASKS]
    except OSError:
        return []


def _cpu_s(pids: tuple[int, ...]) -> float:
    used = [process_seconds(pid) for pid in pids]
    if None in used:
        raise MissingError("`aferir colocate` does not run here", remedy="run it to see why")
    return sum(one for one in used if one is not None)


def _most_resident(pids: tuple[int, ...]) -> float:
    found = [most_resident_bytes(pid) for pid in pids]
    if not all(found):
        raise ProgramError("the controller ended while it was measured")
    return float(sum(found))
