"""Run Redis as a service, and redis-benchmark as its load."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import msgspec

from aferir.colocation.trials.load import Asked, Load, Rate, Times, tell
from aferir.colocation.trials.service import LOOPBACK, Running
from aferir.errors import MissingError, ProgramError
from aferir.linux import ports, process
from aferir.machine import packages
from benchmarks.colocation.server import data_of, loading, serving

_VALUE_BYTES = 1024
_KEYS = 100_000
_KEY = "key:000000000001"
"""A key that redis-benchmark writes, and that the controller's probe reads."""
_REQUESTS = 2_000
"""Requests of one report: a tenth of a second of them, so that a warm-up is left out exactly."""
_COUNT = re.compile(r"[\d.]+% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)")
_REPORT = "Latency by percentile distribution"
_TOOK = re.compile(r"\d+ requests completed in ([\d.]+) seconds")
_END = "Cumulative distribution"


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Start a Redis that appends each write to a file; it is ended afterwards.

    `folder` must be readable by other users. Errors: MissingError, ProgramError.
    """
    if absent := packages.missing(("redis-server", "redis-benchmark", "redis-cli", "stdbuf")):
        raise MissingError(
            f"Redis needs {', '.join(absent)}", remedy=packages.install_command(absent)
        )
    with ports.reserved() as port:
        words = [
            "redis-server",
            "--bind",
            LOOPBACK,
            "--port",
            str(port),
            "--dir",
            str(data_of(folder)),
        ]
        with serving([*words, "--save", "", "--appendonly", "yes"], folder, port) as child:
            process.run(["redis-cli", "-h", LOOPBACK, "-p", str(port), "set", _KEY, "0"])
            where = f"redis://{LOOPBACK}:{port}/{_KEY}"
            yield Running(
                pid=child.pid,
                latency=where,
                threads=("^redis-server",),
                targets=((1.0, str(port)),),
            )


class _Benchmark(msgspec.Struct, frozen=True):
    """A process of redis-benchmark that waits until `begin` is called."""

    child: Popen[str]
    said: Path
    times: Times

    def begin(self) -> None:
        """See `Waiting`."""
        tell(self.child)

    def result(self) -> Load:
        """See `Waiting`: redis-benchmark goes on until it is ended."""
        if self.child.poll() is not None:
            raise ProgramError("redis-benchmark ended by itself", remedy="run it to see why")
        process.end(self.child)
        lines = self.said.read_text(encoding="utf-8", errors="replace").splitlines()
        return Load(asked=requests(lines, self.times), healthy=True, failed=0)


def requests(lines: Iterable[str], times: Times) -> tuple[Asked, ...]:
    """Read redis-benchmark's reports: the requests in those that began after the warm-up.

    A report gives a few latencies and the number of requests up to each; a request's latency is
    taken to be the next of these. Its intended start is taken to be that of the report, since the
    benchmark sends a request only after the response to the one before.
    """
    found: list[Asked] = []
    began_s = ended_s = 0.0
    before, inside = 0, False
    for line in lines:
        if took := _TOOK.search(line):
            began_s, ended_s = ended_s, ended_s + float(took[1])
        elif _REPORT in line:
            before, inside = 0, began_s >= times.warm_up_s
        elif _END in line:
            inside = False
        elif inside and (count := _COUNT.match(line)):
            one = Asked(began_s, float(count[1]) / 1e3, 0, 0)
            found += [one] * (int(count[2]) - before)
            before = int(count[2])
    return tuple(found)


@contextmanager
def benchmark(
    service: Running, _rate: Rate, times: Times, _seed: int, folder: Path
) -> Iterator[_Benchmark]:
    """Start redis-benchmark with SET and GET by one client, which waits for each response.

    It takes neither a rate nor a seed. Errors: ProgramError.
    """
    said, port = folder / "said", service.targets[0][1]
    words = ["redis-benchmark", "-h", LOOPBACK, "-p", port, "-c", "1", "-n", str(_REQUESTS)]
    words += ["-t", "set,get", "-d", str(_VALUE_BYTES), "-r", str(_KEYS), "-l"]
    with loading(["sh", "-c", 'exec stdbuf -oL "$@" > "$0"', str(said), *words]) as child:
        yield _Benchmark(child, said, times)
