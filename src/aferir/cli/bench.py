"""Measure an installed aferir: start-up time, overhead, kill and resume, kernels.

Without a name: list the benches. Every bench prints the same columns: for each figure its name,
value, unit, n, interval, target and whether it holds, the peer's figure and the ratio. Exit code 1
when a target is missed. Benches that compare aferir with its peers, or kill and fault it, are in
`benchmarks/` of a clone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.model.bench import BenchResult, Figure

NAME = "bench"
HELP = "measure aferir itself, compared with its peers"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all benches share."""
    parser.add_argument(
        "bench", nargs="?", metavar="NAME", help="name of a bench; without it, list all"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer classes, rounds and trials: in a minute, some benches of a clone in ten",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of all random numbers (default: 1)"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a peer's program or folder, e.g. npb-cpp=NPB-CPP/NPB-OMP/bin",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CASE",
        help="only the cases of a bench whose names begin with this, e.g. bt or cg.A.2",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="file of finished trials: a bench with long trials continues from it",
    )


def execute(options: argparse.Namespace) -> int:
    """Run one bench and print its figures."""
    from aferir.selftest import npb, overhead, resume, startup

    return choose(options, {"npb": npb, "overhead": overhead, "resume": resume, "startup": startup})


def choose(options: argparse.Namespace, benches: Mapping[str, ModuleType]) -> int:
    """Run the bench that `options` select, or list `benches`. Errors: UsageError."""
    if options.bench is None:
        for name, module in benches.items():
            print(f"{name:10} {module.HELP}")
        return 0
    if options.bench not in benches:
        raise UsageError(
            f"there is no bench `{options.bench}`",
            remedy=f"one of: {', '.join(benches)}; from a clone also `python -m benchmarks`",
        )
    return _run(options, benches[options.bench])


def _run(options: argparse.Namespace, bench: ModuleType) -> int:
    import msgspec

    from aferir.selftest.options import BenchOptions

    if options.only and not hasattr(bench, "SELECTABLE"):
        raise UsageError(f"--only: `{options.bench}` runs as a whole", remedy="leave --only out")
    if options.resume is not None and not hasattr(bench, "RESUMABLE"):
        raise UsageError(f"--resume: `{options.bench}` has no trials", remedy="leave it out")
    chosen = BenchOptions(
        quick=options.quick,
        peers=_peers(options.peer, bench.PEERS),
        only=tuple(options.only),
        seed=options.seed,
        resume=options.resume,
    )
    with _Line(quiet=options.json and not sys.stderr.isatty()) as line:
        result: BenchResult = bench.run(chosen, line.show)
    if options.json:
        document = {**msgspec.to_builtins(result), "holds": result.holds}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        _print_table(result)
    return 0 if result.holds else 1


def _peers(given: list[str], known: tuple[str, ...]) -> dict[str, Path]:
    peers = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in known:
            raise UsageError(
                f"--peer {text}: not NAME=PATH with a peer of this bench",
                remedy=f"peers of this bench: {', '.join(known) or 'none'}",
            )
        if not Path(path).exists():
            raise UsageError(f"--peer {text}: there is no {path}", remedy="name its path")
        peers[name] = Path(path)
    return peers


class _Line:
    """Progress on standard error: a bar on a terminal, one line for each step elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from aferir.cli.console import console

        stderr = console(stderr=True)
        self._lines = not quiet and not stderr.is_terminal
        self._bar = Progress(
            TextColumn("{task.description:28}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            console=stderr,
            transient=True,
            disable=quiet or self._lines,
        )
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, text: str, share: float) -> None:
        """Show the current step, and the completed share of the whole."""
        if self._lines:
            print(f"[{share:4.0%}] {text}", file=sys.stderr)
        self._bar.update(self._task, description=text, completed=share)


def _print_table(result: BenchResult) -> None:
    from rich.markup import escape
    from rich.table import Table

    from aferir.cli.console import console

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("figure", "value", "95 % interval", "n", "target", "", "peer", "ratio", "note"):
        table.add_column(title, justify="left" if title in ("figure", "", "note") else "right")
    for figure in result.figures:
        table.add_row(*_row(figure), escape(figure.note))
    console().print(table)
    for warning in result.warnings:
        console().print(f"[yellow]warning[/] {escape(warning)}")


def _row(figure: Figure) -> tuple[str, ...]:
    value = "-" if figure.value is None else f"{figure.value:.4g} {figure.unit}"
    interval = (
        "" if figure.interval is None else f"[{figure.interval[0]:.4g}, {figure.interval[1]:.4g}]"
    )
    verdict = {True: "[green]holds[/]", False: "[red]missed[/]", None: ""}[figure.holds]
    peer = "" if figure.peer_value is None else f"{figure.peer_value:.4g}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3g}"
    brackets = interval.replace("[", "\\[")
    return figure.name, value, brackets, str(figure.n), figure.target, verdict, peer, ratio
