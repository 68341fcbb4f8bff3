"""Measure the life cycle, the network and the programs of virtual clusters beside their peers."""

from __future__ import annotations

from aferir.model.bench import BenchResult
from aferir.selftest.options import BenchOptions, Note
from benchmarks.cluster import lattice_boltzmann, life, network
from benchmarks.parts import run_parts

HELP = "clusters made and healed; b_eff beside HPCC, lattice Boltzmann beside the RRZE's kernels"
PEERS = (*network.PEERS, *lattice_boltzmann.PEERS)
SELECTABLE = True
_PARTS = {
    "life": life.containers,
    "guests": life.guests,
    "network": network.figures,
    "lattice-boltzmann": lattice_boltzmann.figures,
}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Run all parts, or those that `--only` names."""
    return run_parts("cluster", _PARTS, options, note)
