"""Create a test network, send known bytes, and report what arrived, when and over which link.

Hosts are network namespaces: of this kernel, or of an emulated guest's, which has the bonding
driver and whose time does not depend on the load of this machine. The host's own network is not
changed, and nothing is left behind.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.aggregation.measure import Result
    from aferir.aggregation.traffic import Task
    from aferir.aggregation.verbs.parameters import MeasureParameters

NAME = "measure"
HELP = "measure what a method carries over a test network"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aferir aggregate measure`."""
    from aferir.aggregation.verbs.parameters import MeasureParameters
    from aferir.cli.parameters import add_document, add_options

    add_options(parser, MeasureParameters)
    add_document(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")


def execute(options: argparse.Namespace) -> int:
    """Measure once and print the figures."""
    from aferir.aggregation.measure import measure
    from aferir.aggregation.places import place, usual_kind
    from aferir.aggregation.program import AGGREGATION
    from aferir.aggregation.traffic import PROGRAM
    from aferir.aggregation.verbs.parameters import MeasureParameters
    from aferir.cli.parameters import complain, read_options
    from aferir.programs.kernels import kernel_path

    chosen = read_options(MeasureParameters, options)
    complain(AGGREGATION.validate(chosen))
    task = task_of(chosen)
    kind = usual_kind(task.method) if chosen.network == "auto" else chosen.network
    with place(kind, kernel_path(PROGRAM)) as found:
        result = measure(found, task)
    if options.json:
        import msgspec

        print(msgspec.json.encode(result).decode())
    else:
        _print(result)
    return 0


def task_of(chosen: MeasureParameters) -> Task:
    """The task that the parameters describe. Errors: UsageError if it is impossible."""
    import msgspec

    from aferir.aggregation.program import events_of
    from aferir.aggregation.traffic import Task
    from aferir.aggregation.tuning import ROUND_ROBIN
    from aferir.aggregation.verbs.parameters import network_of
    from aferir.model.network import Bonding, Traffic, Tuning, method_by_name

    if chosen.program == "mpi" and chosen.method == "multipath":
        raise UsageError(
            "--program mpi: has no address of its own over routes",
            remedy="choose multi-rail, which uses all links, or another method",
        )
    method = method_by_name(chosen.method)
    if isinstance(method, Bonding):
        given = {
            "packets_per_slave": chosen.packets_per_slave,
            "xmit_hash_policy": chosen.hash_policy,
            "lacp_rate": chosen.lacp_rate,
        }
        changes = {key: value for key, value in given.items() if value is not None}
        method = msgspec.structs.replace(method, **changes)
    return Task(
        network=network_of(chosen, hosts=chosen.hosts, containers=chosen.containers),
        method=method,
        traffic=Traffic(
            pattern=chosen.pattern,
            connections=chosen.connections,
            tenants=chosen.tenants,
            seconds=chosen.seconds,
            program=chosen.program,
        ),
        tuning=ROUND_ROBIN if chosen.tuned else Tuning(),
        events=events_of(chosen),
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
        return  # another program reports only bytes
    print(
        f"TCP           {result.retransmitted_segments} of {result.sent_segments} segments sent "
        f"again, {result.spurious_segments} of them in vain; {result.out_of_order_segments} came "
        f"out of order, {result.dropped_packets} found a queue full"
    )
    print(
        f"longest gap   {result.gap_s * 1e3:.0f} ms, {number(result.gap_after_s)} s after the start"
    )
