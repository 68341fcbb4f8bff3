"""Judge cycles and joules of I/O: the accounts by known values, and the programs of the study."""

from __future__ import annotations

import time

import msgspec

from aferir.model.bench import BenchResult
from aferir.selftest.options import BenchOptions, Note
from benchmarks.io import accounts, devices, programs
from benchmarks.parts import run_parts

HELP = "I/O: known cycles, mixes and block operations; cost of the probes; programs of the study"
PEERS = ()
SELECTABLE = True
_PARTS = {
    "cycles": accounts.cycles,
    "mix": accounts.mixes,
    "split": accounts.split,
    "block": devices.blocks,
    "cost": accounts.cost,
    "ups": devices.nonsense,
    "workloads": programs.figures,
}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names, and measure how long they took together."""
    clock = time.monotonic()
    result = run_parts("io", _PARTS, options, note)
    spent = programs.duration("duration", time.monotonic() - clock, 1)
    return msgspec.structs.replace(result, figures=(*result.figures, spent))
