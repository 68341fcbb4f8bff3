"""Networks: our measurements beside those of programs that are trusted for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aferir.bench import net_aggregation, net_agreement
from aferir.bench.options import BenchOptions, Note
from aferir.model.bench import BenchResult, Figure

HELP = "network sweep beside NetPIPE; several links used as one, and one of them cut"
PEERS = net_agreement.PEERS

Part = Callable[[BenchOptions, Note], Sequence[Figure]]
_PARTS: tuple[Part, ...] = (net_agreement.figures, net_aggregation.figures)
"""One after another: they would disturb each other."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts; each gets an equal share of the progress that is shown."""
    figures: list[Figure] = []
    for place, part in enumerate(_PARTS):

        def within(text: str, share: float, place: int = place) -> None:
            note(text, (place + share) / len(_PARTS))

        figures.extend(part(options, within))
    return BenchResult(bench="net", quick=options.quick, figures=tuple(figures))
