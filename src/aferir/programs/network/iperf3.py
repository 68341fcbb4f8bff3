"""Bulk throughput by iperf3: the time until a number of bytes has arrived.

Both ends run in the instance, over loopback; in an environment on two hosts, one runs on each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.parameters import size, told, whole
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.kernels import finite, positive
from aferir.programs.network.ends import both_ends, check_program, find_program

PROGRAM = "iperf3"
_BASE = 32 * 2**20
_LONGEST_OUTPUT = 2**22
_REMEDY = "run it by hand to see what it says; is another iperf3 at that port?"


class Iperf3Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one transfer over loopback."""

    pairs: Annotated[int, whole("concurrent streams", 1, 128)] = 1
    transfer_bytes: Annotated[
        int, size("bytes that all streams together transfer", 2**20, 2**50)
    ] = 2**30
    reverse: Annotated[bool, told("transfer from the server to the client")] = False
    port: Annotated[int, whole("port of the server", 1, 65535)] = 5201


class Iperf3(Program[Iperf3Parameters]):
    """Transfers a number of bytes from client to server, or back."""

    name = PROGRAM
    parameters = Iperf3Parameters

    def memory_bytes(self, parameters: Iperf3Parameters) -> int:
        """Memory in bytes of the programs."""
        return _BASE

    def check(self) -> list[Finding]:
        """Whether iperf3 is installed."""
        return [check_program(PROGRAM, PROGRAM, PROGRAM)]

    def command(self, parameters: Iperf3Parameters) -> Command:
        """The command line. Errors: MissingError if iperf3 is not installed."""
        program = find_program(PROGRAM, PROGRAM)
        port = ["-p", str(parameters.port)]
        client = [program, "-c", "@", *port, "-J", "-i", "0.1"]
        client += ["-n", str(parameters.transfer_bytes), "-P", str(parameters.pairs)]
        client += ["-R"] if parameters.reverse else []
        return both_ends([program, "-s", "-B", "@", *port], client)

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """`duration_s` until all data had arrived, throughput, retransmitted segments.

        Errors: ProgramError, with iperf3's own message if there is one.
        """
        document = _document(stdout)
        received = _table(_table(document, "end"), "sum_received")
        sent = _table(_table(document, "end"), "sum_sent")
        samples = [
            Sample("duration_s", positive(received, "seconds"), "s"),
            Sample("throughput_bps", positive(received, "bits_per_second") / 8, "B/s"),
        ]
        if "retransmits" in sent:  # not on every kernel
            samples.append(Sample("retransmits_count", _not_negative(sent, "retransmits"), "1"))
        return (*samples, *_over_time(document))


def _document(stdout: str) -> dict[str, object]:
    try:
        document = json.loads(stdout[-_LONGEST_OUTPUT:])
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ProgramError("iperf3 printed no readable result", remedy=_REMEDY)
    if "error" in document:
        why = "".join(c if c.isprintable() else "?" for c in str(document["error"])[:200])
        raise ProgramError(f"iperf3 failed: {why}", remedy=_REMEDY)
    return document


def _table(document: Mapping[str, object], key: str) -> dict[str, object]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise ProgramError(f"iperf3's result has no `{key}`", remedy=_REMEDY)
    return {"program": PROGRAM, **value}


def _not_negative(table: Mapping[str, object], key: str) -> float:
    number = finite(table, key)
    if number < 0:
        raise ProgramError(f"iperf3 printed `{key}` as {number!r}, which cannot be")
    return number


def _over_time(document: Mapping[str, object]) -> list[Series]:
    """Throughput in intervals of 0.1 s; none if the transfer was shorter."""
    intervals = document.get("intervals")
    times, values = [], []
    for interval in intervals if isinstance(intervals, list) else []:
        if not isinstance(interval, dict):
            raise ProgramError("iperf3 printed an interval that cannot be read", remedy=_REMEDY)
        total = _table(interval, "sum")
        times.append(positive(total, "end"))
        values.append(_not_negative(total, "bits_per_second") / 8)
    if not times:
        return []
    return [
        Series(
            metric="interval_throughput_bps",
            unit="B/s",
            values=tuple(values),
            along="time_s",
            along_unit="s",
            at=tuple(times),
        )
    ]


IPERF3 = Iperf3()
