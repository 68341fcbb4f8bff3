"""Virtual clusters: their network and what runs on them, each beside its peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aferir.bench import cluster_lbm, cluster_life, cluster_network
from aferir.bench.options import BenchOptions, Note
from aferir.model.bench import BenchResult, Figure

HELP = "effective bandwidth beside the HPC Challenge; lattice Boltzmann beside the RRZE's kernels"
PEERS = (*cluster_network.PEERS, *cluster_lbm.PEERS)

Part = Callable[[BenchOptions, Note], Sequence[Figure]]
_PARTS: tuple[Part, ...] = (
    cluster_life.figures,
    cluster_network.figures,
    cluster_lbm.figures,
)
"""One after another: they would disturb each other."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts; each gets an equal share of the progress that is shown."""
    figures: list[Figure] = []
    for place, part in enumerate(_PARTS):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(_PARTS))

        figures.extend(part(options, within))
    return BenchResult(bench="cluster", quick=options.quick, figures=tuple(figures))
