"""Co-location: what its controller costs, and what SIGKILL of whoever takes part leaves."""

from __future__ import annotations

from aferir.bench import colocate_cost, colocate_kill
from aferir.bench.options import BenchOptions, Note
from aferir.colocation import privileges
from aferir.model.bench import BenchResult, Figure

HELP = "batch work beside a service: the controller's cost, SIGKILL at 100 random moments"
PEERS = ()
SELECTABLE = True
_COST = 0.2
"""Share of the time that the cost takes."""


def run(options: BenchOptions, note: Note) -> BenchResult:
    """Both, or what `--only controller` or `--only kill` names.

    Errors: MissingError without the privileges.
    """
    privileges.check()
    figures: list[Figure] = []
    if _wanted("controller", options):
        figures += colocate_cost.figures(
            lambda text, share: note(text, _COST * share), quick=options.quick
        )
    if _wanted("kill", options):
        figures += colocate_kill.figures(
            options.seed,
            lambda text, share: note(text, _COST + (1 - _COST) * share),
            quick=options.quick,
        )
    return BenchResult(bench="colocate", quick=options.quick, figures=tuple(figures))


def _wanted(part: str, options: BenchOptions) -> bool:
    return not options.only or any(part.startswith(name) for name in options.only)
