"""Options of `elastic simulate` that describe clients, Nodes and allocations."""

from __future__ import annotations

import argparse
import math


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _clients(parser)
    _nodes(parser)
    _allocations(parser)


def _clients(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--clients", type=int, default=200, metavar="N", help="number of clients (default: 200)")
    add(
        "--interarrival",
        type=float,
        default=10.0,
        metavar="S",
        help="mean time between two clients (default: 10 s)",
    )
    add("--arrivals", default="poisson", metavar="SHAPE|FILE", help="shape of the load, see above")
    add(
        "--video",
        type=float,
        default=1800.0,
        metavar="S",
        help="length of the video (default: 1800 s)",
    )
    add(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="how long a client waits for its video (default: 60 s)",
    )
    add(
        "--clients-per-node",
        type=int,
        default=100,
        metavar="N",
        help="clients that a Node serves at once (default: 100)",
    )
    add(
        "--allocation",
        default="10.729,1.439",
        metavar="S[,S]|FILE",
        help="latency of an allocation (TaR; default: 10.729,1.439)",
    )


def _nodes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--quota",
        type=int,
        metavar="N",
        help="largest number of Nodes at a time (default: no limit)",
    )
    add(
        "--choice",
        choices=("most-loaded", "least-loaded"),
        default="most-loaded",
        help="Node with room that gets a client (default: most-loaded)",
    )
    add(
        "--waiting",
        choices=("shared", "each"),
        default="shared",
        help="whether waiting clients share an allocation (default: shared)",
    )
    add("--warm", type=int, default=0, metavar="N", help="ready Nodes without clients (default: 0)")
    add(
        "--release-delay",
        type=float,
        default=0.0,
        metavar="S",
        help="time until an empty Node is released (default: 0 s)",
    )
    add("--predict", metavar="S,S", help="window and horizon of a linear predictor")


def _allocations(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--hosts",
        type=int,
        metavar="N",
        help="hosts that carry out allocations (default: no limit)",
    )
    add("--at-once", type=int, default=1, metavar="N", help="allocations of a host (default: 1)")
    add(
        "--store",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of its time for which an allocation uses the image store (default: 0)",
    )
    add(
        "--scheduler",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of its time for which an allocation uses the scheduler (default: 0)",
    )
    add(
        "--store-link",
        type=float,
        default=1.0,
        metavar="COPIES",
        help="copies at once that the store's link takes at full speed (default: 1)",
    )
    add("--racks", type=int, default=1, metavar="N", help="racks that hosts are in (default: 1)")
    add(
        "--rack-link",
        type=float,
        default=math.inf,
        metavar="COPIES",
        help="copies at once that a rack's link takes at full speed (default: no limit)",
    )
    add(
        "--placement",
        choices=("spread", "packed"),
        default="spread",
        help="whether the rack with the fewest or the most allocations under way gets the next "
        "(default: spread)",
    )
