"""Batch work beside a real service: every policy as one arm of a repetition.

The program is aferir itself (`aferir colocate measure`), which starts service, load and batch
program and ends them again; so it runs in the native environment.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from aferir.errors import MissingError, UsageError
from aferir.machine import packages, privileges
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command
from aferir.programs.figures import parse_figures
from aferir.programs.kernels import kernel_path, wrong_integer
from aferir.programs.npb import threads
from aferir.programs.stores import jars

_SERVICES = {
    "nginx": ("nginx", "unshare"),
    "memcached": ("memcached", "unshare", "setpriv"),
    "elasticsearch": ("java", "setpriv"),
    "opensearch": ("java", "setpriv"),
}
"""With the programs that they need."""
_FETCHED = ("elasticsearch", "opensearch")
BATCH: Mapping[str, str] = {
    **{name: name for name in ("xz", "gcc", "povray", "ffmpeg")},
    **dict.fromkeys(("stream", "cache"), "stress-ng"),
    **{f"npb-{kernel}": "" for kernel in threads.KERNELS},
}
"""Batch programs, and what has to be installed for each; the kernels are ours."""
_TEXTS = ("batch", "sla", "arms")
_NUMBERS = {
    "load": (0.01, 1.5),
    "step_to": (0.0, 1.5),
    "rate": (0.0, 1e6),
    "warm_up": (0.2, 3600.0),
    "measured": (1.0, 3600.0),
}
_WHOLE = {"threads": (1, 256), "seed": (0, 2**31), "text_bytes": (2**20, 2**36)}
_MEMORY = 512 * 2**20
_HEAP = 1536 * 2**20
"""Of a search engine, with what its JVM needs besides."""


class ColocationWorkload:
    """Parameters as the options of `aferir colocate measure`."""

    program = "colocation"
    parameters: tuple[str, ...] = (
        "service",
        *_TEXTS,
        *_NUMBERS,
        *_WHOLE,
    )

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """All have defaults. Names of programs and policies are looked at when they run."""
        wrong = []
        if parameters.get("service", "nginx") not in _SERVICES:
            wrong.append(f"service: not known; choose {', '.join(_SERVICES)}")
        if parameters.get("batch", "xz") not in BATCH:
            wrong.append(f"batch: not known; choose {', '.join(BATCH)}")
        wrong += [
            f"{key}: no text; e.g. batch = 'xz', sla = 'p95=100ms'"
            for key in _TEXTS
            if not isinstance(parameters.get(key, ""), str)
        ]
        for key, bounds in _WHOLE.items():
            wrong += wrong_integer(parameters, key, *bounds)
        for key, (least, most) in _NUMBERS.items():
            value = parameters.get(key, most)
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            if not fits or not least <= float(value) <= most:
                wrong.append(f"{key}: {value!r} is not possible; from {least:g} to {most:g}")
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of service, batch program and controller."""
        return _MEMORY + (_HEAP if parameters.get("service") in _FETCHED else 0)

    def check(self) -> list[Finding]:
        """Root, and the programs that make the service."""
        if not privileges.is_root():
            said = "scheduling a service's threads takes root"
            return [Finding(self.program, "missing", said, privileges.as_root_command())]
        wrong = {name: lacks for name in _SERVICES if (lacks := _lacks(name)) is not None}
        able = [name for name in _SERVICES if name not in wrong]
        if not able:
            first = next(iter(wrong.values()))
            return [Finding(self.program, "missing", first.message, first.remedy)]
        said = "".join(f"; {name}: {lacks.remedy}" for name, lacks in wrong.items())
        return [Finding(self.program, "ok", f"beside {', '.join(able)}{said}")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError without the service, or where the load generator was not built."""
        kernel_path("request-clients")
        service = str(parameters.get("service", "nginx"))
        _need(service)
        need_batch(str(parameters.get("batch", "xz")))
        arguments = ["-m", "aferir", "colocate", "measure", service, "--json"]
        for key, value in parameters.items():
            if key != "service":
                arguments += [f"--{key.replace('_', '-')}", str(value)]
        return Command(Path(sys.executable), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """Distributions and quantiles by arm. Errors: as in `Workload.parse`."""
        return parse_figures(stdout, self.program)


def _need(service: str) -> None:
    """Errors: MissingError."""
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
    """Errors: UsageError where there is no such batch program, MissingError."""
    if name not in BATCH:
        raise UsageError(f"there is no batch program `{name}`", remedy=", ".join(BATCH))
    if program := BATCH[name]:
        if packages.missing([program]):
            remedy = packages.install_command([program])
            raise MissingError(f"the batch program {name} needs {program}", remedy=remedy)
    else:
        kernel_path(name)


COLOCATION = ColocationWorkload()
