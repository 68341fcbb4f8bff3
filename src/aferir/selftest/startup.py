"""Response time of the command line, and heavy modules that it must not import."""

from __future__ import annotations

import statistics
import sys
import time

from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.selftest.options import BenchOptions, Note
from aferir.statistics.intervals import median_interval

HELP = "time of `aferir --help`, and heavy modules that it must not import"
PEERS = ()

_HEAVY = ("scipy", "duckdb", "numpy")
_TARGET_S = 0.3


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Start a new interpreter repeatedly; the median is compared with the target."""
    n = 7 if options.quick else 21
    times = []
    for k in range(n):
        note("aferir --help", k / n)
        started = time.perf_counter()
        process.run(
            [sys.executable, "-c", "from aferir.cli import main; main(['--help'])"], check=False
        )
        times.append(time.perf_counter() - started)
    median = statistics.median(times)
    loaded = process.run(
        [sys.executable, "-c", "import sys, aferir.cli; print(*sys.modules)"]
    ).stdout.split()
    interval = median_interval(times)
    heavy = [name for name in _HEAVY if name in loaded]
    return BenchResult(
        bench="startup",
        quick=options.quick,
        figures=(
            Figure(
                name="help.duration",
                value=median,
                unit="s",
                n=n,
                interval=None if interval is None else (interval.low, interval.high),
                target=f"<= {_TARGET_S}",
                holds=median <= _TARGET_S,
            ),
            Figure(
                name="help.heavy_imports",
                value=float(len(heavy)),
                unit="modules",
                n=1,
                target="== 0",
                holds=not heavy,
                note=", ".join(heavy) or f"none of {', '.join(_HEAVY)}",
            ),
        ),
    )
