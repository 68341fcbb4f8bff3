"""Measure the clocks beside their targets; the same as `aferir bench clock`."""

from __future__ import annotations

import argparse

from aferir.cli import bench

NAME = "bench"
HELP = "measure the clocks beside their targets, as `aferir bench clock` does"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock bench`."""
    bench.add_options(parser)


def execute(options: argparse.Namespace) -> int:
    """Run the clock bench."""
    options.bench = "clock"
    return bench.execute(options)
