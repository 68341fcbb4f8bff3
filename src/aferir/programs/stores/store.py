"""Common part of the programs that run real stores: starts the driver and parses its figures."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from aferir.errors import MissingError
from aferir.machine import packages
from aferir.model.finding import Finding
from aferir.model.parameters import names
from aferir.model.plan import SCRATCH, Parameter
from aferir.model.record import Sample
from aferir.programs.base import VOLUME, Command, Program
from aferir.programs.declared import FOLDER, Folder
from aferir.programs.io.base import timed
from aferir.programs.kernels import finite, kernel_path, options, positive, read_figures
from aferir.programs.stores import jars
from aferir.programs.stores.bundle import PYTHON, PYTHON_PACKAGE, bundle

_METRICS = {"operations": "1", "requests": "1", "throughput_rps": "1/s", "setup_s": "s"}
_Values = TypeVar("_Values", bound="StoreParameters")


class StoreParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of all stores."""

    folder: Folder = FOLDER


class Needs(msgspec.Struct, frozen=True):
    """Files and packages that a store needs."""

    programs: tuple[str, ...]
    """Programs on the host's PATH, for the native environment."""
    packages: tuple[str, ...]
    """Debian packages that contain the programs, for the host and for images."""
    client: str = ""
    """Native program of aferir that the driver starts."""
    client_package: str = ""
    """Debian package without which `client` is not compiled."""
    jars: str = ""
    """Name of the archive of Java programs, fetched once by `jars.fetch`; empty: none."""


class Store(Program[_Values]):
    """One program of `inside.main`: its parameters, and the metrics it prints."""

    of_packages = True

    def __init__(
        self,
        name: str,
        parameters: type[_Values],
        *,
        needs: Needs,
        memory: Mapping[str, float],
        short: tuple[Mapping[str, Parameter], ...],
        metrics: Mapping[str, str] | None = None,
    ) -> None:
        """`memory`: bytes for each unit of a parameter, by its name; under "" the program itself.

        `metrics`: names and units of figures that only this program prints.
        """
        self.name = name
        self.parameters = parameters
        self.short_io = short
        self._needs = needs
        self._metrics = {**_METRICS, **(metrics or {})}
        self._memory = memory

    def packages(self, parameters: _Values) -> tuple[str, ...]:
        """Debian packages of its programs, and of the Python that runs the driver."""
        return (*self._needs.packages, PYTHON_PACKAGE)

    def memory_bytes(self, parameters: _Values) -> int:
        """Memory in bytes that the program needs with `parameters`."""
        return round(
            sum(
                each * float(getattr(parameters, name) if name else 1)
                for name, each in self._memory.items()
            )
        )

    def check(self) -> list[Finding]:
        """Whether the host has the programs; images contain them anyway."""
        try:
            self._find()
            self._own()
        except MissingError as error:
            return [Finding(self.name, "missing", error.message, error.remedy)]
        return [Finding(self.name, "ok", f"{', '.join(self._needs.programs)} are installed")]

    def command(self, parameters: _Values) -> Command:
        """The command line. Errors: MissingError if a program is missing."""
        self._find()
        own = self._own()
        passed = [key for key in names(self.parameters) if key != "folder"]
        words = (
            self.name,
            *(word for pair in own.items() for word in map(str, pair)),
            *options(parameters, passed, always=passed),
        )
        folder = {SCRATCH: parameters.folder}
        return Command(bundle(), words, folder, files=tuple(own.values()))

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """`duration_s` of the measured part, and the program's own figures."""
        figures = read_figures(stdout, self.name)
        duration = positive(figures, "duration_s")
        volume = finite(figures, "bytes_read") + finite(figures, "bytes_written")
        return (
            Sample("duration_s", duration, "s"),
            Sample(VOLUME, volume, "B"),
            Sample("throughput_bps", volume / duration, "B/s"),
            *(Sample(name, finite(figures, name), unit) for name, unit in self._metrics.items()),
            *timed(figures),
        )

    def _own(self) -> dict[str, Path]:
        """Other files that the driver needs, by option. Errors: MissingError if one is missing."""
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
                f"`{self.name}` needs {', '.join(absent)}",
                remedy=packages.install_command([*self._needs.packages, PYTHON_PACKAGE]),
            )
