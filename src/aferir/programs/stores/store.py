"""What the workloads that run real stores share: options of one driver, and its figures."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from aferir.errors import MissingError
from aferir.machine import packages
from aferir.model.finding import Finding
from aferir.model.plan import SCRATCH, EnvironmentKind, Parameter
from aferir.model.record import Sample
from aferir.programs.base import VOLUME, Command
from aferir.programs.io.base import FOLDER, timed
from aferir.programs.kernels import finite, kernel_path, positive, read_figures
from aferir.programs.stores import jars
from aferir.programs.stores.bundle import PYTHON, PYTHON_PACKAGE, bundle

_METRICS = {"operations": "1", "requests": "1", "throughput_rps": "1/s", "setup_s": "s"}


class Option(msgspec.Struct, frozen=True):
    """One parameter of a program: a number within bounds."""

    name: str
    default: int | float
    least: int | float
    most: int | float


class Needs(msgspec.Struct, frozen=True):
    """What a program is made of."""

    programs: tuple[str, ...]
    """On the host's PATH, for the native environment."""
    packages: tuple[str, ...]
    """Debian packages that have them, for the host and for images."""
    client: str = ""
    """A native program of ours that the driver starts."""
    client_package: str = ""
    """Debian package that it is compiled with; where that is missing it is not built."""
    jars: str = ""
    """Java programs that are fetched once, see `jars`."""


class StoreWorkload:
    """One program of `inside.main`: its options with bounds, and the metrics it prints."""

    kinds: tuple[EnvironmentKind, ...] = ("native", "container", "vm")

    def __init__(
        self,
        program: str,
        *,
        options: Sequence[Option],
        needs: Needs,
        memory: Mapping[str, float],
        short: tuple[Mapping[str, Parameter], ...],
        metrics: Mapping[str, str] | None = None,
    ) -> None:
        """`memory` are bytes for each unit of an option, and under "" those of the program.

        `metrics` are those with their units that this program alone prints.
        """
        self.program = program
        self.parameters: tuple[str, ...] = (*(option.name for option in options), "folder")
        self.packages: tuple[str, ...] = (*needs.packages, PYTHON_PACKAGE)
        self.short_io = short
        self._options = tuple(options)
        self._needs = needs
        self._metrics = {**_METRICS, **(metrics or {})}
        self._memory = memory

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """Everything has a default."""
        wrong = []
        for option in self._options:
            value = parameters.get(option.name, option.default)
            whole = isinstance(option.default, int)
            fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
            if not fits or not option.least <= value <= option.most:  # type: ignore[operator]
                kind = "whole number" if whole else "number"
                wrong.append(
                    f"{option.name}: {value!r} is not possible; write a {kind} from "
                    f"{option.least} to {option.most}"
                )
        folder = parameters.get("folder", FOLDER)
        if not isinstance(folder, str) or not folder.startswith("/"):
            wrong.append(f"folder: {str(folder)[:40]!r} is no folder; write its whole path")
        return wrong

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of the program, and of what its options ask for."""
        values = self._values(parameters)
        return round(sum(each * float(values.get(name, 1)) for name, each in self._memory.items()))

    def check(self) -> list[Finding]:
        """Whether the host has the programs; images get them by themselves."""
        try:
            self._find()
            self._own()
        except MissingError as error:
            return [Finding(self.program, "missing", error.message, error.remedy)]
        return [Finding(self.program, "ok", f"{', '.join(self._needs.programs)} are installed")]

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError."""
        self._find()
        own = self._own()
        words = [self.program, *(word for pair in own.items() for word in map(str, pair))]
        for name, value in self._values(parameters).items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        folder = {SCRATCH: str(parameters.get("folder", FOLDER))}
        return Command(bundle(), tuple(words), folder, files=tuple(own.values()))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` of the measured part, and what this program counts."""
        figures = read_figures(stdout, self.program)
        duration = positive(figures, "duration_s")
        volume = finite(figures, "bytes_read") + finite(figures, "bytes_written")
        return (
            Sample("duration_s", duration, "s"),
            Sample(VOLUME, volume, "B"),
            Sample("throughput_bps", volume / duration, "B/s"),
            *(Sample(name, finite(figures, name), unit) for name, unit in self._metrics.items()),
            *timed(figures),
        )

    def _values(self, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
        return {o.name: parameters.get(o.name, o.default) for o in self._options}

    def _own(self) -> dict[str, Path]:
        """Files that the driver needs besides, by their option. Errors: MissingError."""
        files = {}
        if self._needs.client:
            try:
                files["--client"] = kernel_path(self._needs.client)
            except MissingError as error:
                first = packages.install_command([self._needs.client_package])
                raise MissingError(error.message, remedy=f"{first}, then {error.remedy}") from None
        if self._needs.jars:
            files["--jars"] = jars.find(self._needs.jars)
        return files

    def _find(self) -> None:
        names = (*self._needs.programs, PYTHON)
        path = packages.search_path()
        if absent := [name for name in names if shutil.which(name, path=path) is None]:
            raise MissingError(
                f"`{self.program}` needs {', '.join(absent)}",
                remedy=packages.install_command([*self._needs.packages, PYTHON_PACKAGE]),
            )
