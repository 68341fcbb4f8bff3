"""Compare our network measurements with those of established programs."""

from __future__ import annotations

from aferir.model.bench import BenchResult
from aferir.selftest.options import BenchOptions, Note
from benchmarks.network import aggregation, agreement
from benchmarks.parts import run_parts

HELP = "network sweep beside NetPIPE; several links used as one, and one of them cut"
PEERS = agreement.PEERS
SELECTABLE = True
_PARTS = {"agreement": agreement.figures, "aggregation": aggregation.figures}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names."""
    return run_parts("net", _PARTS, options, note)
