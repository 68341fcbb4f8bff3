"""The three steps of ElasticMovie: allocation latency, streams of a host, and the service itself.

The programs run `aferir elastic measure`, which creates hosts, a network and instances and removes
them again. They run on the host; instances are inside it, or in the cloud of the environment.
"""

from __future__ import annotations

import ipaddress
import re
import sys
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from aferir.machine import packages, privileges
from aferir.model.checking import Wrong
from aferir.model.cloud import Context
from aferir.model.finding import Finding
from aferir.model.parameters import duration, number, several, text, told, whole
from aferir.model.record import Sample, Series, Warning
from aferir.power.sources import PATTERN, PowerSource
from aferir.programs.base import Command, Program
from aferir.programs.figures import parse_figures
from aferir.programs.kernels import document, kernel_path
from aferir.programs.others import aferir_there

_VIEWERS = "video-clients"
_OF_ONE_HOST = ("capacity", "load")
"""Steps that measure one host, which may have its viewers on others."""
_NEEDED = ("ip", "tc", "debugfs", "nginx", "ffmpeg")
_BASE = 128 * 2**20
_INSTANCE = {"container": 64 * 2**20, "vm": 320 * 2**20}


def front_address(written: str) -> str:
    """An address that viewers can reach. Errors: ValueError that says what is wrong."""
    try:
        found = ipaddress.ip_address(written)
    except ValueError:
        raise ValueError("is no address: write a numeric one of this machine") from None
    if found.is_unspecified:
        raise ValueError("is not an address that viewers could ask")
    return str(found)


def scheduler_address(written: str) -> str:
    """Address of a Dask scheduler. Errors: ValueError that says what is wrong."""
    if not re.fullmatch(SCHEDULER, written):
        raise ValueError("is no address of a scheduler of Dask")
    return written


SCHEDULER = r"[a-z]+://[^/\s]+:[0-9]{1,5}"


class VideoParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the video that is served."""

    video: Annotated[float, duration("length of the video", 1.0, 7200.0)] = 20.0
    bitrate_mbit: Annotated[
        float, number("rate at which it is played", 0.1, 100.0, unit="Mbit/s")
    ] = 2.698
    sent_mbit: Annotated[
        float,
        number(
            "rate at which it is sent; 0: 1.1 times the other, as published, and segments as "
            "fast as possible",
            0.0,
            10_000.0,
            unit="Mbit/s",
        ),
    ] = 0.0
    content: Annotated[Literal["h264", "random-bytes"], told("what is sent")] = "h264"
    rates_mbit: Annotated[
        tuple[Annotated[float, number("rate", 0.1, 100.0, unit="Mbit/s")], ...],
        several(
            "rates of a video in segments (MPEG-DASH)",
            separator=",",
            unset="one file, at `bitrate_mbit`",
        ),
    ] = ()
    segment: Annotated[int, whole("length of a segment", 1, 60, unit="s")] = 4


class HostsParameters(VideoParameters, frozen=True, kw_only=True):
    """Parameters of hosts and of the instances on them."""

    technology: Annotated[Literal["container", "vm"], told("kind of instances")] = "container"
    hosts: (
        Annotated[int, whole("hosts of the instances; for capacity always 1", 1, 64, unset="2")]
        | None
    ) = None
    per_host: Annotated[int, whole("instances a host takes", 1, 320, unset="4")] | None = None
    rate_mbit: Annotated[
        float, number("uplink of a host; 0: as fast as it can", 0.0, 1e6, unit="Mbit/s")
    ] = 0.0
    cpu_quota: (
        Annotated[
            float, number("share of one CPU that an instance may use", 0.01, 1.0, unset="no limit")
        ]
        | None
    ) = None
    cache: Annotated[Literal["cold", "warm"], told("`warm`: hosts have the image")] = "cold"
    power: (
        Annotated[
            PowerSource,
            text(
                "source of the hosts' power",
                "model:power.json",
                parse=PowerSource.parse,
                pattern=PATTERN,
                unset="none",
            ),
        ]
        | None
    ) = None


_CONTEXT = told("how instances of simulated hosts learn what to do; for a cloud its file says it")


class AllocationParameters(HostsParameters, frozen=True, kw_only=True):
    """Parameters of the allocation and release of one instance."""

    context: Annotated[Context, _CONTEXT] = "image"


class ViewersParameters(HostsParameters, frozen=True, kw_only=True):
    """Parameters of viewers."""

    startup: Annotated[float, duration("buffer with which a viewer starts", 0.1, 60.0)] = 1.0
    rule: Annotated[
        Literal["throughput", "buffer", "highest"],
        told("how viewers choose the rate of each segment"),
    ] = "throughput"
    buffer: Annotated[float, duration("most that is buffered of segments", 2.0, 600.0)] = 12.0


class CapacityParameters(ViewersParameters, frozen=True, kw_only=True):
    """Parameters of the search for the streams that a host sustains."""

    instances: Annotated[
        int, whole("instances that share the streams; 0: the host itself serves them", 0, 320)
    ] = 0
    resolution: Annotated[
        float, number("resolution of the number of streams, as a share", 0.005, 0.5)
    ] = 0.05
    profile: Annotated[bool, told("record CPU time by program and symbol, by perf")] = False


class LoadParameters(ViewersParameters, frozen=True, kw_only=True):
    """Parameters of the load of cores while viewers enter at a fixed interval."""

    viewers: Annotated[int, whole("viewers, who enter one after another", 1, 100_000)] = 100
    interval: Annotated[float, duration("time between two viewers", 1e-4, 3600.0)] = 0.4


class MovieParameters(ViewersParameters, frozen=True, kw_only=True):
    """Parameters of the service under a load."""

    clients: Annotated[int, whole("number of clients", 1, 100_000)] = 50
    interarrival: Annotated[float, duration("mean time between clients", 1e-4, 3600.0)] = 0.5
    arrivals: Annotated[
        Literal["poisson", "constant", "step", "ramp", "diurnal", "flash-crowd"],
        told("shape of the load, see `aferir elastic simulate`"),
    ] = "poisson"
    patience: Annotated[float, duration("how long a client waits for its video", 0.0, 3600.0)] = 2.0
    context: Annotated[Literal["image", "cloud-init", "ignition"], _CONTEXT] = "image"
    clients_per_node: Annotated[
        int, whole("clients that a Node serves; 0: as measured", 0, 100_000)
    ] = 0
    choice: Annotated[
        Literal["most-loaded", "least-loaded"], told("Node with room that gets a client")
    ] = "most-loaded"
    waiting: Annotated[
        Literal["shared", "each"],
        told("whether waiting clients share an allocation"),
    ] = "shared"
    warm: Annotated[int, whole("ready Nodes without clients", 0, 64)] = 0
    release_delay: Annotated[
        float, duration("time until an empty Node is released", 0.0, 3600.0)
    ] = 0.0
    predict_window: Annotated[
        float,
        duration("window of a linear predictor; 0: no predictor", 0.0, 3600.0),
    ] = 0.0
    predict_horizon: Annotated[
        float, duration("time by which that predictor looks ahead", 0.0, 3600.0)
    ] = 0.0
    seed: Annotated[int, whole("seed of the arrivals", 0, 2**31)] = 1
    dask: (
        Annotated[
            str,
            text(
                "run the viewers on the workers of this scheduler of Dask",
                "tcp://10.0.0.2:8786",
                parse=scheduler_address,
                pattern=f"^{SCHEDULER}$",
                unset="viewers are here",
            ),
        ]
        | None
    ) = None
    front: Annotated[
        str, text("address of Front", "10.0.0.1", parse=front_address, pattern="^[0-9a-fA-F:.]+$")
    ] = "127.0.0.1"


_Values = TypeVar("_Values", bound=HostsParameters)


class Elastic(Program[_Values]):
    """Runs one step by `aferir elastic measure`, with the parameters as its options."""

    def __init__(self, step: str, parameters: type[_Values]) -> None:
        self.name = f"elastic-{step}"
        self.parameters = parameters
        self.kinds = ("native",) if step in _OF_ONE_HOST else ("native", "cloud")
        self._step = step

    def validate(self, parameters: _Values) -> list[Wrong]:
        """Check that the video is not sent more slowly than it is played, and fits its segments."""
        rates = parameters.rates_mbit
        wrong = []
        if 0 < parameters.sent_mbit < min(rates, default=parameters.bitrate_mbit):
            said = f"{parameters.sent_mbit:g} is below the rate at which the video is played"
            wrong.append(
                Wrong(
                    "sent_mbit",
                    said,
                    "more than `bitrate_mbit`, or than the lowest of `rates_mbit`; or 0",
                )
            )
        if rates and parameters.bitrate_mbit != VideoParameters().bitrate_mbit:
            said = "a video in segments has the rates of `rates_mbit`"
            wrong.append(Wrong("bitrate_mbit", said, "leave out one of the two"))
        if rates and parameters.content != "h264":
            said = "segments are made of H.264 alone"
            wrong.append(Wrong("content", said, "leave it out, or `rates_mbit`"))
        if (
            rates
            and isinstance(parameters, ViewersParameters)
            and parameters.buffer < max(2 * parameters.segment, parameters.startup)
        ):
            said = f"{parameters.buffer:g} s hold less than two segments, or than the start takes"
            wrong.append(Wrong("buffer", said, "a larger one, or a shorter `segment`"))
        return wrong

    def over_hosts(self, parameters: _Values) -> list[Wrong]:
        """Check that the server is the host itself, on its own network."""
        simulated = {
            "instances": "viewers reach the host itself, not instances on it",
            "rate_mbit": "the uplink is that of the hosts' own network",
        }
        return [
            Wrong(key, f"means nothing over several hosts: {why}", "write 0")
            for key, why in simulated.items()
            if getattr(parameters, key, 0)
        ]

    def memory_bytes(self, parameters: _Values) -> int:
        """Least memory in bytes that the step needs: aferir itself and one instance."""
        return _BASE + _INSTANCE[parameters.technology]

    def check(self) -> list[Finding]:
        """Findings on root privileges, and on programs that create networks and serve videos."""
        if not privileges.is_root():
            said = "simulated hosts need root"
            return [Finding(self.name, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(_NEEDED):
            said = f"simulated hosts need {', '.join(absent)}"
            return [
                Finding(self.name, "missing", said, packages.install_command(absent)),
            ]
        return [Finding(self.name, "ok", "simulated hosts can be made")]

    def command(self, parameters: _Values) -> Command:
        """The command line. Errors: MissingError if the viewers' program was not built."""
        viewers = kernel_path(_VIEWERS)
        run = ("-m", "aferir", "elastic", "measure", self._step, "--json")
        line = (*run, "--parameters", document(parameters))
        there = aferir_there(line, (viewers,)) if self._step in _OF_ONE_HOST else None
        return Command(Path(sys.executable), line, there=there)

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """The figures that the step prints. Errors: as for `Program.parse`."""
        return parse_figures(stdout, self.name)


ALLOCATION = Elastic("allocation", AllocationParameters)
CAPACITY = Elastic("capacity", CapacityParameters)
LOAD = Elastic("load", LoadParameters)
MOVIE = Elastic("movie", MovieParameters)
