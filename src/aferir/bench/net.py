"""Networks: our measurements beside those of programs that are trusted for them."""

from __future__ import annotations

from aferir.bench import net_aggregation, net_agreement
from aferir.bench.options import BenchOptions, Note
from aferir.bench.parts import run_parts
from aferir.model.bench import BenchResult

HELP = "network sweep beside NetPIPE; several links used as one, and one of them cut"
PEERS = net_agreement.PEERS
SELECTABLE = True
_PARTS = {"agreement": net_agreement.figures, "aggregation": net_aggregation.figures}


def run(options: BenchOptions, note: Note) -> BenchResult:
    """All parts, or those that `--only` names."""
    return run_parts("net", _PARTS, options, note)
