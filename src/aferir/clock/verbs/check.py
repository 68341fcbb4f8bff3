"""Show the properties of this machine's counter: trust, frequency, offsets between cores.

Calibrates for 0.1 s. Exit code 1 if there is no counter of constant rate and the clocks fall
back to the system's.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aferir.clock.bench_program import CoreOffset, Counter

NAME = "check"
HELP = "the properties of this machine's counter, and how far its cores differ"

_TIME_LIMIT_S = 60.0
_WORDS = {
    "none": "not constant, or rejected by the kernel: CLOCK_MONOTONIC is read instead",
    "claimed": "the processor says so, but the kernel keeps time by another source",
    "trusted": "the kernel itself keeps time by it",
    "given": "a source of the caller's own",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock check`."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Run the program, and print its results."""
    from aferir.cli.console import status
    from aferir.clock.bench_program import PROGRAM, CoreOffset, Counter, measure, of
    from aferir.programs.kernels import kernel_path

    with status("calibrating"):
        lines = measure(kernel_path(PROGRAM), "info", timeout_s=_TIME_LIMIT_S)
    counter, offsets = of(lines, Counter)[-1], of(lines, CoreOffset)
    if options.json:
        import json

        print(json.dumps(document(counter, offsets), indent=2))
    else:
        _print(counter, offsets)
    return 1 if counter.trust == "none" else 0


def document(counter: Counter, offsets: Sequence[CoreOffset]) -> dict[str, object]:
    """Document of `--json`; offsets are in s, against core 0."""
    tick_s = 1 / counter.frequency_hz
    return {
        "counter": counter.counter,
        "invariance": counter.trust,
        "frequency_hz": counter.frequency_hz,
        "frequency_uncertainty_hz": counter.frequency_hz * counter.uncertainty_ppb * 1e-9,
        "uncertainty_ppb": counter.uncertainty_ppb,
        "jumps": counter.jumps,
        "rate_changes": counter.rate_changes,
        "cores": counter.cores,
        "cores_checked": counter.cores_checked,
        "offsets": [
            {
                "core": offset.core,
                "offset_s": offset.offset_ticks * tick_s,
                "uncertainty_s": offset.uncertainty_ticks * tick_s,
                "applied": offset.applied,
            }
            for offset in offsets
        ],
    }


def _print(counter: Counter, offsets: Sequence[CoreOffset]) -> None:
    from rich.table import Table

    from aferir.cli.console import console

    out = console()
    out.print(f"counter     [bold]{counter.counter}[/]")
    out.print(f"invariance  {counter.trust}: {_WORDS[counter.trust]}")
    out.print(
        f"frequency   {counter.frequency_hz / 1e6:,.6f} MHz ± {counter.uncertainty_ppb:.3g} ppb "
        "against CLOCK_MONOTONIC_RAW"
    )
    out.print(f"cores       {counter.cores_checked} of {counter.cores} checked against core 0")
    tick_ns = 1e9 / counter.frequency_hz
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("core", "offset", "uncertainty"):
        table.add_column(title, justify="right")
    table.add_column("")
    for offset in offsets:
        if offset.core == 0:
            continue
        table.add_row(
            str(offset.core),
            f"{offset.offset_ticks * tick_ns:+.1f} ns",
            f"{offset.uncertainty_ticks * tick_ns:.1f} ns",
            "readings are corrected" if offset.applied else "may be zero: not corrected",
        )
    if table.row_count:
        out.print(table)
