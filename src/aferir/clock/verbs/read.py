"""Measure the cost of reading each clock of this machine, side by side.

The clocks alternate every thousand reads, so that noise affects all alike. On a shared machine the
best round is meaningful; the median is what a program gets.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aferir.clock.bench_program import ReadCost

NAME = "read"
HELP = "what reading each clock of this machine costs"

_TIME_LIMIT_S = 600.0
_MOST_ROUNDS = 100_000
PROPERTIES = {
    "rdtsc": "not ordered: goes back between cores",
    "lfence;rdtsc": "ordered ticks, not strict",
    "rdtscp": "ordered ticks and core, not strict",
    "counter": "ordered ticks, not strict",
    "clock_gettime(CLOCK_MONOTONIC)": "slewed by the time daemon, not strict",
    "rvec_read": "strict, precise; one reader a thread",
    "rvec_process_now": "strict in causal order over all threads",
    "rvec_core_read": "one core's clock from any core, strict",
}
"""Properties of a reading of each clock."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock read`."""
    parser.add_argument(
        "--rounds",
        type=int,
        default=2000,
        metavar="N",
        help="number of rounds of 1000 reads (default: 2000)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Measure, and print the fastest clock first."""
    from aferir.cli.console import status
    from aferir.clock.bench_program import PROGRAM, ReadCost, measure, of
    from aferir.programs.kernels import kernel_path

    if not 1 <= options.rounds <= _MOST_ROUNDS:
        raise UsageError("--rounds: from 1 to 100000", remedy="e.g. --rounds 2000")
    with status("reading clocks"):
        lines = measure(
            kernel_path(PROGRAM),
            "costs",
            ["--rounds", str(options.rounds)],
            timeout_s=_TIME_LIMIT_S,
        )
    found = sorted(of(lines, ReadCost), key=lambda line: line.min_ns)
    if options.json:
        import json

        print(json.dumps({"clocks": [_document(line) for line in found]}, indent=2))
    else:
        _print(found)
    return 0


def _document(line: ReadCost) -> dict[str, object]:
    return {
        "clock": line.clock,
        "min_s": line.min_ns * 1e-9,
        "median_s": line.median_ns * 1e-9,
        "n": line.rounds,
        "reads_per_round": line.reads_per_round,
        "properties": PROPERTIES.get(line.clock, ""),
    }


def _print(found: Sequence[ReadCost]) -> None:
    from rich.table import Table

    from aferir.cli.console import console

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("clock", "best", "median", "what a reading is"):
        table.add_column(title, justify="right" if title in ("best", "median") else "left")
    for line in found:
        costs = (f"{line.min_ns:.1f} ns", f"{line.median_ns:.1f} ns")
        table.add_row(line.clock, *costs, PROPERTIES.get(line.clock, ""))
    console().print(table)
    if found:
        print(f"n = {found[0].rounds} rounds of {found[0].reads_per_round} reads each, by turns")
