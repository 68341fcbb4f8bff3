"""NetPIPE as Debian packages it: NPtcp and NPopenmpi (Snell, Mikler, Gustafson, IASTED 1996).

Traps of its output: its Mbps are 2^20 bits a second; its times are the best of three trials, by
gettimeofday; in bidirectional mode the throughput is of both directions and the time of both.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.errors import ProgramError
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import size, told, whole
from aferir.model.record import Sample, Series
from aferir.programs.base import Command, Program
from aferir.programs.mpi import find_launcher, placement_options
from aferir.programs.network.ends import both_ends, check_program, find_program
from aferir.programs.network.sweep import Transport, curve

PROGRAM = "netpipe"
PACKAGES = {"tcp": ("NPtcp", "netpipe-tcp"), "mpi": ("NPopenmpi", "netpipe-openmpi")}
# The streaming mode is not used: NPtcp then opens a new connection for each trial, and sometimes
# waits for it forever.
_FLAGS = {"blocking": (), "async": ("-a",), "bidirectional": ("-2", "-a")}
_NUMBERS = {"least_bytes": "-l", "most_bytes": "-u", "perturbation": "-p", "rounds": "-n"}
_BASE = 64 * 2**20
_LINE = re.compile(r"^ *(\d{1,15}) +(\d{1,15}\.\d{6}) +(\d{1,15}\.\d{8})\s*$", re.MULTILINE)
_MEBIBIT_BYTES = 2**20 / 8


class Point(msgspec.Struct, frozen=True):
    """Results for one message size."""

    bytes: int
    latency_s: float
    throughput_bps: float


class NetpipeParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one sweep over message sizes."""

    transport: Transport = "tcp"
    mode: Annotated[
        Literal["blocking", "async", "bidirectional"],
        told("how both ends take turns; NPtcp has no `async`"),
    ] = "blocking"
    least_bytes: Annotated[int, size("size of the smallest message", 1, 2**30)] = 1
    most_bytes: Annotated[int, size("size of the largest message", 1, 2**30)] = 2**20
    perturbation: (
        Annotated[
            int,
            whole(
                "each size also with so many bytes less and more", 0, 1024, unset="NetPIPE's own"
            ),
        ]
        | None
    ) = None
    rounds: (
        Annotated[int, whole("messages of each trial", 1, 100_000_000, unset="NetPIPE's choice")]
        | None
    ) = None


class Netpipe(Program[NetpipeParameters]):
    """One sweep over message sizes, both ends over loopback."""

    name = PROGRAM
    parameters = NetpipeParameters

    def validate(self, parameters: NetpipeParameters) -> list[Wrong]:
        """Check the mode, as NPtcp has no `async`."""
        if parameters.transport == "tcp" and parameters.mode == "async":
            remedy = 'choose another, or write transport = "mpi"'
            return [Wrong("mode", "NPtcp has no `async`", remedy)]
        return []

    def memory_bytes(self, parameters: NetpipeParameters) -> int:
        """Memory in bytes of the programs, and of a buffer at each end."""
        return _BASE + 2 * parameters.most_bytes

    def check(self) -> list[Finding]:
        """Whether either program is installed; one is sufficient."""
        found = [check_program(PROGRAM, name, package) for name, package in PACKAGES.values()]
        if not any(finding.status == "ok" for finding in found):
            return found
        return [
            Finding(
                f.subject, "degraded" if f.status == "missing" else f.status, f.message, f.remedy
            )
            for f in found
        ]

    def command(self, parameters: NetpipeParameters) -> Command:
        """The command line of both ends over loopback. Errors: MissingError."""
        options = netpipe_options(parameters)
        transport = parameters.transport
        program = find_program(*PACKAGES[transport])
        if transport == "tcp":
            return both_ends([program, *options], [program, "-h", "@", *options])
        launcher = find_launcher("openmpi")
        placed = placement_options("openmpi", root=os.geteuid() == 0)
        return Command(Path(launcher.path), (*placed, "-n", "2", program, *options))

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """The same figures as `net-sweep` has. Errors: as for `Program.parse`."""
        points = parse_points(stdout)
        places = tuple(float(point.bytes) for point in points)
        latencies = tuple(point.latency_s for point in points)
        throughputs = tuple(point.throughput_bps for point in points)
        return (
            Sample("duration_s", math.fsum(latencies), "s"),
            Sample("most_throughput_bps", max(throughputs), "B/s"),
            Sample("least_latency_s", min(latencies), "s"),
            curve("throughput_bps", "B/s", throughputs, places),
            curve("latency_s", "s", latencies, places),
        )


def netpipe_options(parameters: NetpipeParameters) -> list[str]:
    """Options of NetPIPE for valid `parameters`, with the table on standard output."""
    flags = _FLAGS[parameters.mode]
    if parameters.transport != "mpi":
        flags = tuple(flag for flag in flags if flag != "-a")  # NPtcp has no such option
    found = [*flags, "-o", "/dev/stdout"]
    for key, flag in _NUMBERS.items():
        value = getattr(parameters, key)
        if value is not None:
            found += [flag, str(value)]
    return found


def parse_points(text: str) -> list[Point]:
    """The table of sizes. Errors: ProgramError if there is none.

    Its third column, the time, has a resolution of 10 ns; for messages that take less than 10 us,
    the second column, the throughput, is more precise and is used.
    """
    points = []
    for length, mebibits, seconds in _LINE.findall(text):
        point = Point(int(length), float(seconds), float(mebibits) * _MEBIBIT_BYTES)
        if point.bytes > 0 and point.latency_s > 0 and point.throughput_bps > 0:
            points.append(point)
    if not points:
        raise ProgramError(
            "NetPIPE printed no table of sizes",
            remedy="run it by hand to see what it says; do both ends reach each other?",
        )
    return points


NETPIPE = Netpipe()
