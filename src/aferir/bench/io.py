"""Cycles and joules of I/O: the accounts against what is known, and the programs of the study."""

from __future__ import annotations

from aferir.bench import io_workloads
from aferir.bench.options import BenchOptions, Note
from aferir.bench.parts import run_parts
from aferir.model.bench import BenchResult

HELP = "I/O: known cycles, mixes and block operations; cost of the probes; programs of the study"
PEERS = ()
SELECTABLE = True
_PARTS = {"workloads": io_workloads.figures}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts, or those that `--only` names."""
    return run_parts("io", _PARTS, options, note)
