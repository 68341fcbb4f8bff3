"""Simulate the synchronisation of a cluster: its duration, and the clocks' errors.

Every node runs the exchange of Dutra 2015 over a network with jitter, rare long delays, loss and
asymmetry, exchanges again at least 10 s later for its rate, and then runs freely.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.clock.results import Errors, Level, Moment, Simulation

NAME = "simulate"
HELP = "a cluster of up to a million nodes, synchronised once"

_TOPOLOGIES = ("one-level", "two-level", "tree")
_NETWORKS = ("gigabit", "datacentre")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir clock simulate`."""
    parser.add_argument(
        "--nodes", type=int, default=100_000, metavar="N", help="number of nodes (default: 100000)"
    )
    parser.add_argument(
        "--topology",
        choices=(*_TOPOLOGIES, "all"),
        default="tree",
        help="topology of servers and clients (default: tree; all: one after another)",
    )
    parser.add_argument(
        "--arity",
        type=int,
        metavar="K",
        help="children of each node of a tree (default: as many as there is time for)",
    )
    parser.add_argument(
        "--network",
        choices=_NETWORKS,
        default="gigabit",
        help="delays of the network (default: gigabit, as published)",
    )
    parser.add_argument(
        "--keep",
        choices=("round-trip", "directions"),
        default="round-trip",
        help="use the shortest round trip, or the shortest delay of each direction",
    )
    parser.add_argument(
        "--hold",
        type=float,
        default=86_400.0,
        metavar="S",
        help="seconds for which the clocks then run freely (default: a day)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of all random numbers (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="also draw the results: .svg or .html"
    )


def execute(options: argparse.Namespace) -> int:
    """Simulate, print and draw each requested topology."""
    _check(options)
    if options.picture is not None:
        from aferir.report.write.picture import check_picture_path

        check_picture_path(options.picture)
    simulations = _simulate(options)
    if options.json:
        import msgspec

        document = {"seed": options.seed, "network": options.network, "simulations": simulations}
        print(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        for simulation in simulations:
            _print(simulation)
    if options.picture is not None:
        _draw(options, simulations)
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.nodes < 1:
        raise UsageError("--nodes: there must be at least one", remedy="e.g. --nodes 1000")
    if options.arity is not None and options.topology != "tree":
        raise UsageError("--arity is for a tree", remedy="add --topology tree, or leave it out")
    if options.arity is not None and options.arity < 2:
        raise UsageError("--arity: with fewer than 2 children a tree is a chain", remedy="try 2")
    if not 0 <= options.hold < float("inf"):
        raise UsageError("--hold: not a time", remedy="seconds, e.g. --hold 3600")
    if options.seed < 0:
        raise UsageError("--seed: not negative", remedy="e.g. --seed 1")


def _simulate(options: argparse.Namespace) -> list[Simulation]:
    import numpy as np

    from aferir.cli.console import status
    from aferir.clock.delays import NETWORKS
    from aferir.clock.simulate import Settings, simulate
    from aferir.clock.topology import TOPOLOGIES

    found = []
    for topology in TOPOLOGIES:
        if options.topology not in (topology, "all"):
            continue
        settings = Settings(
            nodes=options.nodes,
            topology=topology,
            arity=options.arity,
            network=NETWORKS[options.network],
            keep=options.keep,
            hold_s=options.hold,
        )
        with status(f"simulating {options.nodes:,} nodes, {topology}"):
            found.append(simulate(settings, np.random.default_rng(options.seed)))
    return found


def _print(simulation: Simulation) -> None:
    from rich.table import Table

    from aferir.cli.console import console
    from aferir.report.charts.clock_names import duration, inside, layout_name, moment_name
    from aferir.report.formatting import number, quantity

    hold_s = simulation.hold_s
    out = console()
    out.print(
        f"[bold]{layout_name(simulation)}[/]: {simulation.nodes:,} nodes set in "
        f"{duration(simulation.ready_s)}; with 1 ms a node, as published, "
        f"{duration(simulation.published_ready_s)}. A node takes "
        f"{quantity(simulation.node_mean_s, 's')} and {number(simulation.messages_mean)} messages."
    )
    shown: tuple[Moment, ...] = ("set", "rated", "held")
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    errors_of = [f"{moment_name(m, hold_s)}:\nmedian/99 %/max" for m in shown]
    for title in ("\nlevel", "\nnodes", "\nset by", *errors_of, "inside\nbound"):
        table.add_column(title, justify="right")
    for level in simulation.levels:
        table.add_row(*_row(level, shown))
    errors = {e.moment: e for e in simulation.errors}
    table.add_row(
        "all",
        f"{simulation.nodes:,}",
        duration(simulation.ready_s),
        *(_three(errors[m]) for m in shown),
        inside(min(e.inside for e in simulation.errors)),
    )
    if not out.is_terminal:
        out.width = 120  # a file has no width at which lines would have to be broken
    out.print(table)
    out.print(
        f"Errors {duration(hold_s)} later: up to {quantity(errors['held'].max_s, 's')}, claimed "
        f"{quantity(errors['held'].bound_median_s, 's')} (median); with one look alone, as "
        f"published, up to {quantity(errors['held-unrated'].max_s, 's')}.\n"
    )


def _row(level: Level, shown: tuple[Moment, ...]) -> tuple[str, ...]:
    from aferir.report.charts.clock_names import duration, inside

    errors = {e.moment: e for e in level.errors}
    return (
        str(level.level),
        f"{level.nodes:,}",
        duration(level.ready_s),
        *(_three(errors[moment]) for moment in shown),
        inside(min(e.inside for e in level.errors)),
    )


def _three(errors: Errors) -> str:
    """Median, 99 % quantile and maximum in one unit."""
    from aferir.report.formatting import number, scale

    factor, unit = scale(errors.max_s, "s")
    values = (errors.median_s, errors.p99_s, errors.max_s)
    return f"{'/'.join(number(value / factor) for value in values)} {unit}"


def _draw(options: argparse.Namespace, simulations: list[Simulation]) -> None:
    from aferir.report.charts.clock_simulation import simulation_chart
    from aferir.report.write.picture import write_picture

    write_picture(
        options.picture,
        simulation_chart(simulations),
        title=f"{options.nodes:,} nodes, synchronised once ({options.network}, simulated)",
        caption="Above: nodes that are set over time; dashed: 1 ms for every node, without "
        "errors. Below: errors of all clocks against the reference, and the median of the bounds "
        "that the clocks claim.",
    )
    if not options.json:
        print(options.picture)
