"""Fit a model of this server's power: a busy run, runs in between, and an idle one.

Loops, or FFmpeg that transcodes (`--load ffmpeg`), keep some of the CPUs busy meanwhile; nothing
else should run. The model then
serves as a source without a meter: `aferir power watch model:FILE`. With --peak and
--idle-fraction, from a data sheet, nothing is run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.power.model import PowerModel

NAME = "calibrate"
HELP = "fit a model of power by a busy and an idle run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir power calibrate`."""
    from aferir.power.load import LOADS

    parser.add_argument("source", nargs="?", metavar="SOURCE", help="as in `aferir power watch`")
    parser.add_argument("--output", type=Path, required=True, help="file for the model")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="seconds at each level of load (default: 60)"
    )
    parser.add_argument(
        "--levels", type=int, default=3, help="number of levels of load, 2 to 16 (default: 3)"
    )
    parser.add_argument(
        "--load", choices=LOADS, default="spin", help="load that keeps CPUs busy (default: spin)"
    )
    parser.add_argument(
        "--peak", type=float, metavar="W", help="power with all CPUs busy, from a data sheet"
    )
    parser.add_argument(
        "--idle-fraction", type=float, metavar="F", help="idle power over power with all CPUs busy"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Fit and write the model."""
    import msgspec

    from aferir.power.model import model_of

    if (options.source is None) == (options.peak is None):
        raise UsageError(
            "name a source to calibrate by, or --peak and --idle-fraction",
            remedy="e.g. aferir power calibrate nut:ups --output power.json",
        )
    if options.peak is not None:
        model = model_of(options.peak, options.idle_fraction or 0.0)
    else:
        model = _measure(options)
    options.output.write_bytes(msgspec.json.format(msgspec.json.encode(model)) + b"\n")
    if options.json:
        print(msgspec.json.encode(model).decode())
    else:
        bend = "" if model.bend is None else f", bend {model.bend:.2f}"
        fitted = f", fitted to {model.error_w:.1f} W" if options.peak is None else ""
        print(
            f"{model.idle_w:.1f} W idle, {model.peak_w:.1f} W busy{bend}{fitted}, {model.basis}; "
            f"written to {options.output}"
        )
    return 0


def _measure(options: argparse.Namespace) -> PowerModel:
    from aferir.cli.console import status
    from aferir.power.calibrate import measure
    from aferir.power.verbs.watch import open_sources

    if not (2 <= options.levels <= 16 and 1 <= options.seconds <= 3600):
        raise UsageError(
            "--levels from 2 to 16, --seconds from 1 to 3600", remedy="e.g. --levels 3"
        )
    [source] = open_sources([options.source]).values()
    with status(f"calibrating by {options.source}") as shown:
        return measure(
            source,
            levels=options.levels,
            seconds=options.seconds,
            load=options.load,
            note=shown.update if shown is not None else lambda _: None,
        )
