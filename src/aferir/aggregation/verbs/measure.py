"""Make a test network, send known bytes over it, and tell what arrived, when and over which link.

Hosts are network namespaces: of this kernel, or of an emulated guest's, which has the bonding
driver and whose time does not depend on how busy this machine is. Nothing of the host's own network
is touched, and nothing is left.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.errors import UsageError
from aferir.model.network import (
    METHODS,
    MOST_CONTAINERS,
    MOST_HOSTS,
    MOST_LINKS,
    Bonding,
    Event,
    Network,
    Traffic,
    Tuning,
    method_by_name,
    one_after_another,
)

if TYPE_CHECKING:
    from aferir.aggregation.measure import Result
    from aferir.aggregation.traffic import Task

NAME = "measure"
HELP = "what a method carries over a test network"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate measure`."""
    parser.add_argument("--method", choices=METHODS, default="single", help="default: single")
    add_network_options(parser)
    parser.add_argument("--hosts", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument(
        "--pattern",
        choices=("pair", "fan-out", "fan-in"),
        default="pair",
        help="host1 to host2, host1 to all others, all others to host1 (default: pair)",
    )
    parser.add_argument(
        "--program",
        choices=("network-stream", "iperf3", "mpi"),
        default="network-stream",
        help="ours, which verifies every byte; iperf3; two ranks of Open MPI (default: ours)",
    )
    parser.add_argument("--connections", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--tenants", type=int, default=1, metavar="N", help="programs at once")
    parser.add_argument(
        "--containers", type=int, default=0, metavar="N", help="a host, bridged over its links"
    )
    parser.add_argument("--packets-per-slave", type=int, metavar="N", help="of balance-rr")
    parser.add_argument(
        "--hash-policy", choices=("layer2", "layer2+3", "layer3+4"), help="of balance-xor, 802.3ad"
    )
    parser.add_argument("--lacp-rate", choices=("slow", "fast"), help="of 802.3ad")
    parser.add_argument(
        "--tuned", action="store_true", help="as `aferir aggregate plan` advises for balance-rr"
    )
    parser.add_argument("--cut-at", type=float, metavar="S", help="cut link eth0 of host1")
    parser.add_argument("--restore-at", type=float, metavar="S", help="and let it work again")
    parser.add_argument(
        "--cut-each",
        action="store_true",
        help="then every other link, one after another, for as long and as far apart: whichever "
        "carries the traffic is cut",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Options that all measurements share."""
    parser.add_argument("--links", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument(
        "--rate-mbit", type=int, default=100, metavar="N", help="Mbit/s of a link (default: 100)"
    )
    parser.add_argument("--delay-ms", type=float, default=0.0, metavar="N", help="one way")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="default: 3")
    parser.add_argument(
        "--network",
        choices=("auto", "namespaces", "guest", "guests"),
        default="auto",
        help="where hosts are: in this kernel, in that of one guest, or a guest each (default: a "
        "guest where this kernel has no bonding and it is needed)",
    )


def execute(options: argparse.Namespace) -> int:
    """Measure once and print the figures."""
    from aferir.aggregation.measure import measure
    from aferir.aggregation.places import place, usual_kind
    from aferir.aggregation.traffic import PROGRAM
    from aferir.programs.kernels import kernel_path

    task = task_of(options)
    kind = usual_kind(task.method) if options.network == "auto" else options.network
    with place(kind, kernel_path(PROGRAM)) as found:
        result = measure(found, task)
    if options.json:
        import msgspec

        print(msgspec.json.encode(result).decode())
    else:
        _print(result)
    return 0


def task_of(options: argparse.Namespace) -> Task:
    """What is to be measured. Errors: UsageError where it is impossible."""
    from aferir.aggregation.traffic import Task
    from aferir.aggregation.tuning import ROUND_ROBIN

    check(options)
    method = method_by_name(options.method)
    if isinstance(method, Bonding):
        import msgspec

        chosen = {
            "packets_per_slave": options.packets_per_slave,
            "xmit_hash_policy": options.hash_policy,
            "lacp_rate": options.lacp_rate,
        }
        given = {key: value for key, value in chosen.items() if value is not None}
        method = msgspec.structs.replace(method, **given)
    return Task(
        network=network_of(options, hosts=options.hosts, containers=options.containers),
        method=method,
        traffic=Traffic(
            pattern=options.pattern,
            connections=options.connections,
            tenants=options.tenants,
            seconds=options.seconds,
            program=options.program,
        ),
        tuning=ROUND_ROBIN if options.tuned else Tuning(),
        events=_events(options),
    )


def _events(options: argparse.Namespace) -> tuple[Event, ...]:
    if options.cut_each:
        return one_after_another(options.links, options.cut_at, options.restore_at)
    events = [Event(options.cut_at, 0)] if options.cut_at is not None else []
    if options.restore_at is not None:
        events.append(Event(options.restore_at, 0, up=True))
    return tuple(events)


def network_of(options: argparse.Namespace, *, hosts: int = 2, containers: int = 0) -> Network:
    """The network that the options describe."""
    return Network(
        hosts=hosts,
        links=options.links,
        rate_bits=options.rate_mbit * 1_000_000,
        delay_s=options.delay_ms * 1e-3,
        containers=containers,
    )


def check(options: argparse.Namespace) -> None:
    """Errors: UsageError where the options ask for what cannot be."""
    bounds = (
        ("--links", options.links, 1, MOST_LINKS),
        ("--rate-mbit", options.rate_mbit, 1, 100_000),
        ("--hosts", options.hosts, 2, MOST_HOSTS),
        ("--connections", options.connections, 1, 256),
        ("--tenants", options.tenants, 1, 16),
        ("--containers", options.containers, 0, MOST_CONTAINERS),
        ("--seconds", options.seconds, 0.1, 3600),
    )
    for name, value, least, most in bounds:
        if not least <= value <= most:
            raise UsageError(f"{name} {value}: not possible", remedy=f"from {least} to {most}")
    if options.program == "mpi" and options.method == "multipath":
        raise UsageError(
            "--program mpi: has no address of its own over routes",
            remedy="choose multi-rail, which uses all links, or another method",
        )
    if options.restore_at is not None and (options.cut_at or options.seconds) >= options.restore_at:
        raise UsageError(
            "--restore-at: the link is not cut before it", remedy="--cut-at, and earlier"
        )
    if options.cut_each and (options.cut_at is None or options.restore_at is None):
        raise UsageError(
            "--cut-each: it is not said when the first link is cut, and works again",
            remedy="--cut-at and --restore-at",
        )
    if options.cut_each and (last_s := _events(options)[-1].at_s) >= options.seconds:
        raise UsageError(
            f"--cut-each: the last link would work again after {last_s:g} s",
            remedy=f"--seconds, and more than {last_s:g}",
        )


def _print(result: Result) -> None:
    from aferir.report.formatting import number

    print(
        f"{result.method} over {result.links} links ({result.network}): "
        f"{number(result.throughput_bps * 8e-6)} Mbit/s for {number(result.duration_s)} s"
    )
    if len(result.stream_bps) > 1:
        each = ", ".join(number(rate * 8e-6) for rate in result.stream_bps)
        print(f"streams       {each} Mbit/s (fairness {result.fairness:.2f})")
    each = ", ".join(f"{name} {number(b * 1e-6)} MB" for name, b in result.link_bytes.items())
    print(f"host1's links {each}")
    if not result.sent_segments:
        return  # another program's, which tells no more
    print(
        f"TCP           {result.retransmitted_segments} of {result.sent_segments} segments sent "
        f"again, {result.spurious_segments} of them in vain; {result.out_of_order_segments} came "
        f"out of order, {result.dropped_packets} found a queue full"
    )
    print(
        f"longest gap   {result.gap_s * 1e3:.0f} ms, {number(result.gap_after_s)} s after the start"
    )
