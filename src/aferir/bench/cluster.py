"""Virtual clusters: their life, their network and what runs on them, each beside its peer."""

from __future__ import annotations

from aferir.bench import cluster_lbm, cluster_life, cluster_network
from aferir.bench.options import BenchOptions, Note
from aferir.bench.parts import run_parts
from aferir.model.bench import BenchResult

HELP = "clusters made and healed; b_eff beside HPCC, lattice Boltzmann beside the RRZE's kernels"
PEERS = (*cluster_network.PEERS, *cluster_lbm.PEERS)
SELECTABLE = True
_PARTS = {
    "life": cluster_life.containers,
    "guests": cluster_life.guests,
    "network": cluster_network.figures,
    "lattice-boltzmann": cluster_lbm.figures,
}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts, or those that `--only` names."""
    return run_parts("cluster", _PARTS, options, note)
