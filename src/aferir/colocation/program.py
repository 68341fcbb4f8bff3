"""Runs batch work beside a real service, with every policy as one arm of a repetition.

The program is aferir itself (`aferir colocate measure`), which starts service, load and batch
program and ends them again; so it runs in the native environment. If the environment has two hosts,
the load generator is on the second, as in Oliveira 2022.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from aferir.colocation import further
from aferir.colocation.further import Further, ServiceName
from aferir.colocation.policies import POLICIES
from aferir.colocation.settings import SLA_PATTERN, Sla
from aferir.errors import MissingError, UsageError
from aferir.machine import packages, privileges
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import duration, number, several, size, text, told, whole
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command, Program
from aferir.programs.figures import parse_figures
from aferir.programs.kernels import document, kernel_path
from aferir.programs.npb import threads
from aferir.programs.others import aferir_there
from aferir.programs.stores import jars

_SERVICES = {
    "nginx": ("nginx", "unshare"),
    "memcached": ("memcached", "unshare", "setpriv"),
    "elasticsearch": ("java", "setpriv"),
    "opensearch": ("java", "setpriv"),
}
"""Services, each with the programs that it needs."""
_FETCHED = ("elasticsearch", "opensearch")
BATCH: Mapping[str, str] = {
    **{name: name for name in ("xz", "gcc", "povray", "ffmpeg")},
    **dict.fromkeys(("stream", "cache", "memory"), "stress-ng"),
    "disk": "dd",
    **{f"npb-{kernel}": "" for kernel in threads.KERNELS},
}
"""Batch programs, and what each needs installed; the NPB kernels are part of aferir."""
_MEMORY = 512 * 2**20
_HEAP = 1536 * 2**20
"""Memory in bytes of a search engine: its heap, and what its JVM needs in addition."""


class ColocationParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of one service, its load, and the batch work beside it."""

    service: Annotated[ServiceName, told("service to which the load sends requests")] = "nginx"
    load: Annotated[float, number("load as a share of `load_of`", 0.01, 1.5)] = 0.5
    load_of: Annotated[
        Literal["rate", "cpus"],
        told("the highest rate that meets the SLA alone, or the CPU time of all CPUs"),
    ] = "rate"
    step_to: Annotated[
        float, number("load from half of the time on, as such a share; 0: no step", 0.0, 1.5)
    ] = 0.0
    rate: Annotated[
        float, number("rate at a load of 1; 0: find it first", 0.0, 1e6, unit="1/s")
    ] = 0.0
    users: Annotated[
        int, whole("users of a closed loop at a load of 1; 0: an open loop of requests", 0, 60_000)
    ] = 0
    think: Annotated[
        float, duration("mean time that a user thinks before it asks again", 0.0, 3600.0)
    ] = 0.0
    batch: Annotated[str, told("batch program", words=tuple(BATCH))] = "xz"
    command: Annotated[
        str,
        text(
            "shell command of one piece of batch work, instead of `batch`; each thread repeats it",
            "parsecmgmt -a run -p ferret -i simsmall",
            unset="none",
        ),
    ] = ""
    threads: Annotated[int, whole("threads of the batch program", 1, 256)] = 4
    sla: Annotated[
        Sla,
        text("a quantile and its bound", "p95=100ms", parse=Sla.parse, pattern=SLA_PATTERN),
    ] = Sla(0.95, 0.1)
    arms: Annotated[
        tuple[Annotated[str, told("a policy", words=tuple(POLICIES))], ...],
        several("policies, with commas", separator=",", unset="all"),
    ] = ()
    more_services: Annotated[
        tuple[
            Annotated[
                Further,
                text(
                    "a service, its load, its SLA, and the rate at a load of 1",
                    "memcached load=0.5 rate=2000 sla=p95=10ms",
                    parse=further.parse,
                ),
            ],
            ...,
        ],
        several(
            "further services beside the same batch, each a name with its `load`, `sla` and `rate`",
            separator=",",
            unset="none",
        ),
    ] = ()
    warm_up: Annotated[
        float, duration("time at the start of each arm that is not counted", 0.2, 3600.0)
    ] = 2.0
    measured: Annotated[float, duration("time that is measured in each arm", 1.0, 3600.0)] = 6.0
    ramp_down: Annotated[
        float, duration("time for which the load goes on afterwards, not counted", 0.0, 3600.0)
    ] = 0.0
    text_bytes: Annotated[
        int,
        size("size of the texts (this machine's documentation) that are searched", 2**20, 2**36),
    ] = 64 * 2**20
    seed: Annotated[
        int, whole("seed of the order of the arms and of the times of requests", 0, 2**31)
    ] = 1

    @property
    def services(self) -> tuple[ServiceName, ...]:
        """Names of all services, `service` first."""
        return (self.service, *(one.service for one in self.more_services))


class Colocation(Program[ColocationParameters]):
    """Runs `aferir colocate measure` with the parameters as its options."""

    name = "colocation"
    parameters = ColocationParameters
    kinds = ("native",)

    def validate(self, parameters: ColocationParameters) -> list[Wrong]:
        """Check that each service is there once, and that a closed loop is given no rate."""
        return [*_wrong_of_services(parameters), *_wrong_of_users(parameters)]

    def memory_bytes(self, parameters: ColocationParameters) -> int:
        """Memory in bytes of services, batch program and controller."""
        return _MEMORY + _HEAP * sum(name in _FETCHED for name in parameters.services)

    def check(self) -> list[Finding]:
        """Findings on root privileges, and on the programs that each service needs."""
        if not privileges.is_root():
            said = "scheduling a service's threads takes root"
            return [Finding(self.name, "missing", said, privileges.as_root_command())]
        wrong = {name: lacks for name in _SERVICES if (lacks := _lacks(name)) is not None}
        able = [name for name in _SERVICES if name not in wrong]
        if not able:
            first = next(iter(wrong.values()))
            return [Finding(self.name, "missing", first.message, first.remedy)]
        said = "".join(f"; {name}: {lacks.remedy}" for name, lacks in wrong.items())
        return [Finding(self.name, "ok", f"beside {', '.join(able)}{said}")]

    def command(self, parameters: ColocationParameters) -> Command:
        """The command line. Errors: MissingError if service or load generator are missing."""
        kernel_path("request-clients")
        for name in parameters.services:
            _need(name)
        batch = parameters.batch
        if not parameters.command:
            need_batch(batch)
        run = ("-m", "aferir", "colocate", "measure", parameters.service, "--json")
        line = (*run, "--parameters", document(parameters))
        ours = not parameters.command and not BATCH[batch]
        files = (kernel_path("request-clients"), *((kernel_path(batch),) if ours else ()))
        return Command(Path(sys.executable), line, there=aferir_there(line, files))

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """Distributions and quantiles of each arm. Errors: as for `Program.parse`."""
        return parse_figures(stdout, self.name)


def _wrong_of_services(parameters: ColocationParameters) -> list[Wrong]:
    names = parameters.services
    if len(set(names)) == len(names):
        return []
    said = f"names a service that is there already: {', '.join(names)}"
    return [Wrong("more_services", said, "name each service once")]


def _wrong_of_users(parameters: ColocationParameters) -> list[Wrong]:
    """Errors of a closed loop with a rate: its load is its number of users."""
    if not parameters.users:
        return []
    others = {"rate": parameters.rate, "step_to": parameters.step_to}
    given = [name for name, value in others.items() if value]
    if parameters.load_of != "rate":
        given.append("load_of")
    said = "is of an open loop of requests, and `users` are a closed one"
    return [Wrong(name, said, "leave one of them out") for name in given]


def _need(service: str) -> None:
    """Check that a service can be started. Errors: MissingError if anything is missing."""
    if absent := packages.missing(_SERVICES[service]):
        raise MissingError(
            f"{service} needs {', '.join(absent)}", remedy=packages.install_command(absent)
        )
    if service in _FETCHED:
        jars.find(service)


def _lacks(service: str) -> MissingError | None:
    try:
        _need(service)
    except MissingError as error:
        return error
    return None


def need_batch(name: str) -> None:
    """Check that a batch program can be started.

    Errors: UsageError if there is no such program, MissingError if it is not installed.
    """
    if name not in BATCH:
        raise UsageError(f"there is no batch program `{name}`", remedy=", ".join(BATCH))
    if program := BATCH[name]:
        if packages.missing([program]):
            remedy = packages.install_command([program])
            raise MissingError(f"the batch program {name} needs {program}", remedy=remedy)
    else:
        kernel_path(name)


COLOCATION = Colocation()
