"""Cycles and joules of I/O: the accounts against what is known, and the programs of the study."""

from __future__ import annotations

import time

import msgspec

from aferir.bench import io_accounts, io_devices, io_workloads
from aferir.bench.options import BenchOptions, Note
from aferir.bench.parts import run_parts
from aferir.model.bench import BenchResult

HELP = "I/O: known cycles, mixes and block operations; cost of the probes; programs of the study"
PEERS = ()
SELECTABLE = True
_PARTS = {
    "cycles": io_accounts.cycles,
    "mix": io_accounts.mixes,
    "split": io_accounts.split,
    "block": io_devices.blocks,
    "cost": io_accounts.cost,
    "ups": io_devices.nonsense,
    "workloads": io_workloads.figures,
}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts, or those that `--only` names, and how long they took together."""
    clock = time.monotonic()
    result = run_parts("io", _PARTS, options, note)
    spent = io_workloads.duration("duration", time.monotonic() - clock, 1)
    return msgspec.structs.replace(result, figures=(*result.figures, spent))
