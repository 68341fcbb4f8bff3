"""Time reports and pages of synthetic runs as a user sees them: written anew, and by HTTP."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from aferir.linux import process
from aferir.model.bench import BenchResult, Figure
from aferir.selftest.options import BenchOptions, Note
from benchmarks.parts import run_parts
from benchmarks.report.made_up import write_run
from benchmarks.report.opening import opened

HELP = "time of `aferir report` for a usual and a wide run, and of `aferir serve` for a long one"
PEERS = ()
SELECTABLE = True

_WIDTHS = {"usual": (3, 8, None), "wide": (16, 62, 5.0)}
"""By width: numbers of environments and of programs, and the longest time in s of a report."""
_REPETITIONS = 10


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run both parts, or the one that `--only` names."""
    return run_parts("report", {"write": written, "open": opened}, options, note)


def written(options: BenchOptions, note: Note) -> list[Figure]:
    """Judge the fastest of several: the machine's other work can only slow a report down."""
    figures = []
    n = 2 if options.quick else 5
    for place, (name, (environments, programs, most)) in enumerate(_WIDTHS.items()):
        with tempfile.TemporaryDirectory(prefix="aferir-bench-report-") as folder:
            note(f"a run of {environments} x {programs}", place / len(_WIDTHS))
            made = write_run(
                Path(folder),
                environments=environments,
                programs=programs,
                repetitions=_REPETITIONS,
            )
            timed = []
            for k in range(n):
                note(f"report {name}", (place + (k + 1) / (n + 1)) / len(_WIDTHS))
                timed.append(_report(made))
        elapsed = min(seconds for seconds, _ in timed)
        figures.append(
            Figure(
                name=f"{name}.duration",
                value=elapsed,
                unit="s",
                n=n,
                target=f"<= {most}" if most else "",
                holds=elapsed <= most if most else None,
                note=f"{environments} environments, {programs} programs, all forms; "
                f"{min(cpu for _, cpu in timed):.2f} s of CPU time",
            )
        )
    return figures


def _report(folder: Path) -> tuple[float, float]:
    """Return the wall time and the CPU time in seconds of one `aferir report`."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process.run([sys.executable, "-m", "aferir", "report", str(folder)])
    elapsed = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, sum((after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime))
