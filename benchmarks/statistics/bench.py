"""Judge the comparison on simulated data: coverage, false claims, power, warnings."""

from __future__ import annotations

from aferir.model.bench import BenchResult
from aferir.selftest.options import BenchOptions, Note
from benchmarks.parts import run_parts
from benchmarks.statistics import judge

HELP = "statistics on simulated data: coverage, false claims, power, stalls, dependence"
PEERS = ()
SELECTABLE = True
_PARTS = {
    "coverage": judge.coverage,
    "families": judge.families,
    "equivalence": judge.equivalence,
    "power": judge.power,
    "dependence": judge.dependence,
    "drift": judge.drift,
}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names."""
    return run_parts("statistics", _PARTS, options, note)
