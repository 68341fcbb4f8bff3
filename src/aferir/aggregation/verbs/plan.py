"""Advise which way of aggregating links fits a network and its traffic, and why."""

from __future__ import annotations

import argparse

from aferir.errors import UsageError

NAME = "plan"
HELP = "which method fits, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate plan`."""
    parser.add_argument(
        "--rates-mbit",
        required=True,
        metavar="N,N,...",
        help="rate of each link, e.g. 1000,1000,1000",
    )
    parser.add_argument(
        "--switch",
        choices=("none", "plain", "static", "lacp"),
        default="plain",
        help="cables from host to host; a switch that groups no ports, statically, or by LACP",
    )
    parser.add_argument(
        "--connections",
        choices=("one", "many"),
        default="many",
        help="whether one connection has to exceed one link",
    )
    parser.add_argument(
        "--peers",
        choices=("one", "many"),
        default="one",
        help="number of other hosts (default: one)",
    )
    parser.add_argument(
        "--this-end-only", action="store_true", help="the other hosts cannot be configured"
    )
    parser.add_argument(
        "--one-subnet", action="store_true", help="links cannot have subnets of their own"
    )
    parser.add_argument(
        "--static-programs",
        action="store_true",
        help="programs are linked statically: mptcpize has no effect",
    )
    parser.add_argument("--mpi", action="store_true", help="the traffic is Open MPI's")
    parser.add_argument(
        "--bridge", action="store_true", help="containers or guests are bridged over the links"
    )
    parser.add_argument(
        "--want",
        choices=("throughput", "availability"),
        default="throughput",
        help="most important property",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def execute(options: argparse.Namespace) -> int:
    """Print the advice."""
    from aferir.aggregation.planner import Situation, advise
    from aferir.model.network import Bonding, MultiRail, name_of

    advice = advise(
        Situation(
            rates_bits=_rates(options.rates_mbit),
            switch=options.switch,
            connections=options.connections,
            peers=options.peers,
            both_ends=not options.this_end_only,
            subnets=not options.one_subnet,
            static_programs=options.static_programs,
            mpi=options.mpi,
            bridge=options.bridge,
            want=options.want,
        )
    )
    if options.json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(advice)).decode())
        return 0
    method = advice.method
    kind = "bonding, mode " if isinstance(method, Bonding) else ""
    print(f"Take {kind}{name_of(method)}.")
    for sentence in advice.why:
        print(f"  because  {sentence}")
    for sentence in advice.beware:
        print(f"  beware   {sentence}")
    links = len(options.rates_mbit.split(","))
    print(
        f"  One connection uses up to {advice.connection_links} of {links} links, "
        f"all together up to {advice.total_links}."
    )
    if isinstance(method, Bonding) and method.mode in ("balance-xor", "802.3ad"):
        print(f"  xmit_hash_policy {method.xmit_hash_policy}")
    if isinstance(method, MultiRail):
        print("  mpirun --mca btl_tcp_if_include SUBNET,SUBNET,... PROGRAM")
    if not advice.tuning.bond_offloads:
        print("  ethtool -K bond0 tso off gso off")
    for setting in advice.tuning.settings:
        print(f"  sysctl -w {setting.name}={setting.value}")
    return 0


def _rates(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdecimal() and 0 < int(word) <= 1_000_000 for word in words):
        raise UsageError(
            f"--rates-mbit {text}: not rates of links", remedy="e.g. --rates-mbit 1000,1000"
        )
    return tuple(int(word) * 1_000_000 for word in words)
