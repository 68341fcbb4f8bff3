"""Time the pages of `aferir serve` for a run of a million samples."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.request import urlopen

from aferir.linux import process
from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions, Note
from aferir.serve.server import Server
from aferir.store import open_run
from benchmarks.report.made_up import write_run

_ENVIRONMENTS, _PROGRAMS = 3, 8
_REPETITIONS, _QUICK_REPETITIONS = 4400, 44
"""Repetitions of each cell: with ten samples each, and failures without any, 1.02 million."""
_MOST_S = 2.0
_PAGES = {"list": "", "run": "run/{}/index.html", "report": "run/{}/report.html"}


def opened(options: BenchOptions, note: Note) -> list[Figure]:
    """Measure the longest of several requests for each page, the first one included."""
    repetitions = _QUICK_REPETITIONS if options.quick else _REPETITIONS
    with tempfile.TemporaryDirectory(prefix="aferir-bench-report-") as path:
        folder = Path(path)
        note("write a run of a million samples", 0.0)
        made = write_run(
            folder, environments=_ENVIRONMENTS, programs=_PROGRAMS, repetitions=repetitions
        )
        count = sum(len(record.samples) for record in open_run(made).records)
        note("report it", 0.4)
        process.run([sys.executable, "-m", "aferir", "report", str(made)])
        note("open it", 0.9)
        return [_judged(name, times, count) for name, times in _requested(made).items()]


def _requested(run: Path) -> dict[str, list[float]]:
    """Times in s of five requests for each page, of a server that has answered none before."""
    with Server(run.parent, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            return {
                name: [_request(server.url + page.format(run.name)) for _ in range(5)]
                for name, page in _PAGES.items()
            }
        finally:
            server.shutdown()
            thread.join()


def _request(address: str) -> float:
    started = time.perf_counter()
    with urlopen(address) as answer:  # noqa: S310 - the address is that of our own server
        answer.read()
    return time.perf_counter() - started


def _judged(name: str, times: list[float], count: int) -> Figure:
    longest = max(times)
    return Figure(
        name=f"open.{name}",
        value=longest,
        unit="s",
        n=len(times),
        target=f"<= {_MOST_S:g}",
        holds=longest <= _MOST_S,
        note=f"the longest of {len(times)} requests; {count:,} samples",
    )
