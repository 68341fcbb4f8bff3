"""Batch work beside a real service: every policy as one arm of a repetition.

The program is aferir itself (`aferir colocate measure`), which starts service, load and batch
program and ends them again; so it runs in the native environment.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from aferir.machine import packages, privileges
from aferir.model.finding import Finding
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning
from aferir.workloads.base import Command
from aferir.workloads.figures import parse_figures
from aferir.workloads.kernels import kernel_path, wrong_integer

_SERVICES = ("nginx",)
_NEEDED = ("nginx", "chrt", "unshare")
_TEXTS = ("batch", "sla", "arms")
_NUMBERS = {
    "load": (0.01, 1.5),
    "step_to": (0.0, 1.5),
    "rate": (0.0, 1e6),
    "warm_up": (0.2, 3600.0),
    "measured": (1.0, 3600.0),
}
_WHOLE = {"threads": (1, 256), "seed": (0, 2**31)}
_MEMORY = 512 * 2**20


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
        return _MEMORY

    def check(self) -> list[Finding]:
        """Root, and the programs that make the service."""
        if not privileges.is_root():
            said = "scheduling a service's threads takes root"
            return [Finding(self.program, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(_NEEDED):
            said = f"co-location needs {', '.join(absent)}"
            return [Finding(self.program, "missing", said, packages.install_command(absent))]
        return [Finding(self.program, "ok", "services can be started")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the load generator was not built."""
        kernel_path("request-clients")
        service = str(parameters.get("service", "nginx"))
        arguments = ["-m", "aferir", "colocate", "measure", service, "--json"]
        for key, value in parameters.items():
            if key != "service":
                arguments += [f"--{key.replace('_', '-')}", str(value)]
        return Command(Path(sys.executable), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """Distributions and quantiles by arm. Errors: as in `Workload.parse`."""
        return parse_figures(stdout, self.program)


COLOCATION = ColocationWorkload()
