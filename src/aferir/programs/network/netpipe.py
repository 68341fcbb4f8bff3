"""NetPIPE as Debian packages it: NPtcp and NPopenmpi (Snell, Mikler, Gustafson, IASTED 1996).

Traps of its output: its Mbps are 2^20 bits a second; its times are the best of three trials, by
gettimeofday; in bidirectional mode the throughput is of both directions and the time of both.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.errors import ProgramError
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series
from aferir.programs.base import Command
from aferir.programs.kernels import wrong_integer
from aferir.programs.mpi import find_launcher, placement_options
from aferir.programs.network.ends import both_ends, check_program, find_program
from aferir.programs.network.sweep import TRANSPORTS, curve, one_of

PROGRAM = "netpipe"
PACKAGES = {"tcp": ("NPtcp", "netpipe-tcp"), "mpi": ("NPopenmpi", "netpipe-openmpi")}
# Not its streaming mode: NPtcp makes a new connection for each trial then, and at times waits for
# it without end.
_FLAGS = {"blocking": (), "async": ("-a",), "bidirectional": ("-2", "-a")}
_NUMBERS = {
    "least_bytes": ("-l", 1, 2**30),
    "most_bytes": ("-u", 1, 2**30),
    "perturbation": ("-p", 0, 1024),
    "rounds": ("-n", 1, 100_000_000),
}
_DEFAULT_MOST = 2**20
_BASE = 64 * 2**20
_LINE = re.compile(r"^ *(\d{1,15}) +(\d{1,15}\.\d{6}) +(\d{1,15}\.\d{8})\s*$", re.MULTILINE)
_MEBIBIT_BYTES = 2**20 / 8


class Point(msgspec.Struct, frozen=True):
    """One size of messages."""

    bytes: int
    latency_s: float
    throughput_bps: float


class NetpipeWorkload:
    """Parameters `transport`, `mode`, sizes, and `rounds` of each trial (its own choice unless)."""

    program = PROGRAM
    parameters: tuple[str, ...] = ("transport", "mode", *_NUMBERS)

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """`transport` is tcp and `mode` blocking unless given; NPtcp has no `async`."""
        wrong = one_of(parameters, "transport", TRANSPORTS) + one_of(
            parameters, "mode", tuple(_FLAGS)
        )
        for key, (_, low, high) in _NUMBERS.items():
            if key in parameters:
                wrong += wrong_integer(parameters, key, low, high)
        if parameters.get("transport", "tcp") == "tcp" and parameters.get("mode") == "async":
            wrong.append("mode: NPtcp has no `async`; choose another, or transport = `mpi`")
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """The programs, and a buffer at each end."""
        most = parameters.get("most_bytes", _DEFAULT_MOST)
        return _BASE + (2 * most if isinstance(most, int) else 0)

    def check(self) -> list[Finding]:
        """Whether either program is there; one is enough."""
        found = [check_program(PROGRAM, name, package) for name, package in PACKAGES.values()]
        if not any(finding.status == "ok" for finding in found):
            return found
        return [
            Finding(
                f.subject, "degraded" if f.status == "missing" else f.status, f.message, f.remedy
            )
            for f in found
        ]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Both ends over loopback. Errors: MissingError."""
        options = netpipe_options(parameters)
        transport = "mpi" if parameters.get("transport") == "mpi" else "tcp"
        program = find_program(*PACKAGES[transport])
        if transport == "tcp":
            return both_ends([program, *options], [program, "-h", "127.0.0.1", *options])
        launcher = find_launcher("openmpi")
        placed = placement_options("openmpi", root=os.geteuid() == 0)
        return Command(Path(launcher.path), (*placed, "-n", "2", program, *options))

    def parse(self, stdout: str) -> Sequence[Sample | Series]:
        """As those of `net-sweep`. Errors: as in `Workload.parse`."""
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


def netpipe_options(parameters: Mapping[str, Parameter]) -> list[str]:
    """Options for these (valid) parameters, with the table on standard output."""
    flags = _FLAGS[str(parameters.get("mode", "blocking"))]
    if parameters.get("transport") != "mpi":
        flags = tuple(flag for flag in flags if flag != "-a")  # NPtcp does not know it
    options = [*flags, "-o", "/dev/stdout"]
    for key, (flag, _, _) in _NUMBERS.items():
        if key in parameters or key == "most_bytes":
            options += [flag, str(parameters.get(key, _DEFAULT_MOST))]
    return options


def parse_points(text: str) -> list[Point]:
    """The table of sizes. Errors: ProgramError where there is none.

    Its third column has steps of 10 ns; where a message takes less than 10 us, the second one says
    it more exactly, and is what the throughput is taken from.
    """
    points = []
    for size, mebibits, seconds in _LINE.findall(text):
        point = Point(int(size), float(seconds), float(mebibits) * _MEBIBIT_BYTES)
        if point.bytes > 0 and point.latency_s > 0 and point.throughput_bps > 0:
            points.append(point)
    if not points:
        raise ProgramError(
            "NetPIPE printed no table of sizes",
            remedy="run it by hand to see what it says; do both ends reach each other?",
        )
    return points


NETPIPE = NetpipeWorkload()
