"""Compare runs: the same environments and workloads, side by side.

The runs were not measured at the same time, so changes of the machine's state are part of the
ratios; intervals treat them as independent samples. One run of each side shows how these two runs
differ; with several of each, the interval includes the variation between runs. Other programs,
parameters and kinds of environment are not compared; differences of the machines are listed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.store import Run

NAME = "compare"
HELP = "what differs between runs"
_EXAMPLES = """\
examples:
  aferir compare runs/A runs/B
  aferir compare runs/A1 runs/A2 --against runs/B1 runs/B2
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir compare`."""
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="A and B, or the first side's runs"
    )
    parser.add_argument(
        "--against",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="the second side's runs, where a side has several",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Print the ratio of each cell that both sides have."""
    import msgspec

    from aferir.report.analyse import analyse
    from aferir.report.compare import compare
    from aferir.report.formatting import listing
    from aferir.report.likeness import other_conditions
    from aferir.store import open_run

    folders = _sides(options.runs, options.against)
    sides = [[open_run(folder) for folder in side] for side in folders]
    conditions = ([(run.plan, run.provenance) for run in side] for side in sides)
    notes = (*_same_runs(sides), *_unfinished(sides), *other_conditions(*conditions))
    names = [listing([str(run.folder) for run in side]) for side in sides]
    result = msgspec.structs.replace(
        compare(*([analyse(r.plan, r.records) for r in side] for side in sides), notes=notes),
        first=names[0],
        second=names[1],
    )
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(result)).decode())
        return 0
    for note in result.notes:
        print(note)
    for cell in result.cells:
        print(cell.text)
    for other in result.not_compared:
        where = f"{other.environment} on {other.group}"
        print(f"{where}: not compared, these are not the same work: {listing([*other.differs])}")
    for cells, which in ((result.only_first, names[0]), (result.only_second, names[1])):
        for name in cells:
            print(f"{name}: only {which} has results")
    if not result.cells and not result.not_compared:
        print("The runs have no cell in common that has results.")
    return 0


def _same_runs(sides: Sequence[Sequence[Run]]) -> tuple[str, ...]:
    """Note about runs that are on both sides, also as copies.

    Errors: UsageError if one side has a run twice: it would count as two independent ones.
    """
    known: dict[tuple[str, int, str], Path] = {}
    notes = []
    for side in sides:
        ours: dict[tuple[str, int, str], Path] = {}
        for run in side:
            one = run.manifest
            identity = (one.name, one.created_unix_ns, one.experiment_sha256)
            if identity in ours:
                raise UsageError(
                    f"{run.folder} is the same run as {ours[identity]}, or a copy of it",
                    remedy="name each run once: twice, it would count as two independent ones",
                )
            if identity in known:
                notes.append(f"{run.folder} is the same run as {known[identity]}, or a copy of it.")
            ours[identity] = run.folder
        known |= ours
    return tuple(notes)


def _unfinished(sides: Sequence[Sequence[Run]]) -> tuple[str, ...]:
    unfinished = [run.folder for side in sides for run in side if not run.complete]
    return tuple(f"{folder} is unfinished: it counts as far as it is." for folder in unfinished)


def _sides(runs: list[Path], against: list[Path]) -> tuple[list[Path], list[Path]]:
    if against:
        return runs, against
    if len(runs) == 2:
        return runs[:1], runs[1:]
    raise UsageError(
        f"{len(runs)} given, and nothing says which runs are compared with which",
        remedy="aferir compare A B, or aferir compare A1 A2 --against B1 B2",
    )
