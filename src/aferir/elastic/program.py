"""The three steps of ElasticMovie: allocation latency, streams of a host, and the service itself.

The program is aferir itself (`aferir elastic measure`), which makes hosts, a network and instances
and removes them again; so it runs on the host, and instances are inside, or of the cloud that its
environment is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from aferir.machine import packages, privileges
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentKind, Parameter
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import Command
from aferir.programs.figures import parse_figures
from aferir.programs.kernels import kernel_path, wrong_integer

_VIEWERS = "video-clients"
_NEEDED = ("ip", "tc", "debugfs", "nginx", "ffmpeg")
_BASE = 128 * 2**20
_INSTANCE = {"container": 64 * 2**20, "vm": 320 * 2**20}

_WORDS: Mapping[str, tuple[str, ...]] = {
    "technology": ("container", "vm"),
    "content": ("h264", "random-bytes"),
    "cache": ("cold", "warm"),
    "arrivals": ("poisson", "constant", "step", "ramp", "diurnal", "flash-crowd"),
    "choice": ("most-loaded", "least-loaded"),
    "waiting": ("shared", "each"),
}
_TEXTS = {
    "power": '"model:power.json"',
    "dask": '"tcp://10.0.0.2:8786"',
    "front": '"10.0.0.1"',
}
_WHOLE = {
    "hosts": (1, 64),
    "per_host": (1, 64),
    "instances": (0, 64),
    "clients": (1, 100_000),
    "clients_per_node": (0, 100_000),
    "warm": (0, 64),
    "seed": (0, 2**31),
}
_NUMBERS = {
    "rate_mbit": (0.0, 1e6),
    "cpu_quota": (0.01, 1.0),
    "video": (1.0, 7200.0),
    "bitrate_mbit": (0.1, 100.0),
    "sent_mbit": (0.0, 10_000.0),
    "startup": (0.1, 60.0),
    "resolution": (0.005, 0.5),
    "interarrival": (1e-4, 3600.0),
    "patience": (0.0, 3600.0),
    "release_delay": (0.0, 3600.0),
    "predict_window": (0.0, 3600.0),
    "predict_horizon": (0.0, 3600.0),
}
_HOSTS = (
    *("technology", "hosts", "per_host", "rate_mbit", "cpu_quota", "cache"),
    *("video", "bitrate_mbit", "sent_mbit", "content", "power"),
)


class ElasticWorkload:
    """Parameters as the options of `aferir elastic measure`."""

    def __init__(self, step: str, parameters: tuple[str, ...]) -> None:
        self.program = f"elastic-{step}"
        self.parameters: tuple[str, ...] = parameters
        self.kinds: tuple[EnvironmentKind, ...] = ("native",)
        if step != "capacity":
            self.kinds += ("cloud",)
        self._step = step

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """All have defaults."""
        wrong = []
        for key, value in parameters.items():
            if key not in self.parameters:
                continue
            if key in _TEXTS and not isinstance(value, str):
                wrong.append(f"{key}: {value!r} is no text; write e.g. {_TEXTS[key]}")
            elif key == "profile" and not isinstance(value, bool):
                wrong.append("profile: is `true` or `false`; write one of them")
            elif key in _WORDS and value not in _WORDS[key]:
                wrong.append(f"{key}: {value!r} is not known; choose {', '.join(_WORDS[key])}")
            elif key in _WHOLE:
                wrong += wrong_integer(parameters, key, *_WHOLE[key])
            elif key in _NUMBERS:
                least, most = _NUMBERS[key]
                fits = isinstance(value, int | float) and not isinstance(value, bool)
                if not fits or not least <= float(value) <= most:
                    wrong.append(f"{key}: {value!r} is not possible; from {least:g} to {most:g}")
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of aferir, and of one instance at least."""
        return _BASE + _INSTANCE.get(str(parameters.get("technology")), _INSTANCE["container"])

    def check(self) -> list[Finding]:
        """Root, and the programs that make networks and serve videos."""
        if not privileges.is_root():
            said = "simulated hosts need root"
            return [Finding(self.program, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(_NEEDED):
            said = f"simulated hosts need {', '.join(absent)}"
            return [
                Finding(self.program, "missing", said, packages.install_command(absent)),
            ]
        return [Finding(self.program, "ok", "simulated hosts can be made")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the viewers' program was not built."""
        kernel_path(_VIEWERS)
        arguments = ["-m", "aferir", "elastic", "measure", self._step, "--json"]
        for key, value in parameters.items():
            option = f"--{key.replace('_', '-')}"
            if isinstance(value, bool):
                arguments += [option] if value else []
            else:
                arguments += [option, str(value)]
        return Command(Path(sys.executable), tuple(arguments))

    def parse(self, stdout: str) -> tuple[Sample | Series | Warning, ...]:
        """The figures that the step itself names. Errors: as in `Workload.parse`."""
        return parse_figures(stdout, self.program)


ALLOCATION = ElasticWorkload("allocation", _HOSTS)
CAPACITY = ElasticWorkload("capacity", (*_HOSTS, "startup", "instances", "resolution", "profile"))
MOVIE = ElasticWorkload(
    "movie",
    (
        *(*_HOSTS, "startup", "clients", "interarrival", "arrivals", "patience"),
        *("clients_per_node", "choice", "waiting", "warm", "release_delay"),
        *("predict_window", "predict_horizon", "seed", "dask", "front"),
    ),
)
