"""Measure the power of this server in watts, by any available source."""

from __future__ import annotations

import argparse
from types import ModuleType

from aferir.cli.verbs import add_verbs
from aferir.power.verbs import calibrate, watch

NAME = "power"
HELP = "watts of this server: counters, sensors, a UPS, an outlet, a model"

SUBVERBS: tuple[ModuleType, ...] = (watch, calibrate)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs below `aferir power`."""
    add_verbs(parser, SUBVERBS)


def execute(options: argparse.Namespace) -> int:
    """Execute the chosen verb; returns its exit code."""
    return int(options.execute_verb(options))
