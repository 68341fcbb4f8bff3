"""What our own programs of I/O share: options with bounds, a folder for files, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

import msgspec

from aferir.model.finding import Finding
from aferir.model.plan import SCRATCH, Parameter
from aferir.model.record import Sample
from aferir.programs.base import TIMED, VOLUME, Command
from aferir.programs.kernels import (
    check_kernels,
    finite,
    kernel_path,
    positive,
    read_figures,
    wrong_integer,
)

FOLDER = "/var/tmp"  # noqa: S108 - a folder of the run's own is made below
MOST_BYTES = 2**45
MOST_INSTANCES = 1024


class Whole(msgspec.Struct, frozen=True):
    """A parameter that is a whole number, and the program's default."""

    default: int
    least: int
    most: int


class IoProgram:
    """One native program of I/O: see docs/reference/io-programs.md."""

    def __init__(
        self,
        program: str,
        *,
        whole: Mapping[str, Whole],
        memory: Callable[[Mapping[str, int]], int],
        short: tuple[Mapping[str, Parameter], ...],
        words: Mapping[str, tuple[str, ...]] | None = None,
        flags: tuple[str, ...] = (),
        figures: Mapping[str, str] | None = None,
    ) -> None:
        """`words` are parameters with their choices, the default first.

        `memory` gives bytes from all whole numbers; `figures` are units of what the program
        prints besides duration, volume and operations.
        """
        self.program = program
        self.parameters: tuple[str, ...] = (*whole, *(words or {}), *flags, "folder")
        self.short_io = short
        self._whole = dict(whole)
        self._words = dict(words or {})
        self._flags = flags
        self._memory = memory
        self._figures = dict(figures or {})

    def validate(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """Everything has a default."""
        wrong = []
        for name, option in self._whole.items():
            given = {name: option.default, **parameters}
            wrong += wrong_integer(given, name, option.least, option.most)
        for name, choices in self._words.items():
            value = parameters.get(name, choices[0])
            if value not in choices:
                wrong.append(f"{name}: {value!r} is not possible; choose {' or '.join(choices)}")
        for name in self._flags:
            if not isinstance(parameters.get(name, False), bool):
                wrong.append(f"{name}: {parameters[name]!r} is not possible; write true or false")
        folder = parameters.get("folder", FOLDER)
        if not isinstance(folder, str) or not PurePosixPath(folder).is_absolute():
            wrong.append(f"folder: {folder!r} is not an absolute path; write it from / on")
        return wrong

    def default(self, name: str) -> int:
        """Of a parameter that is a whole number."""
        return self._whole[name].default

    def memory_bytes(self, parameters: Mapping[str, Parameter]) -> int:
        """Of all its processes; the page cache comes on top where there is room."""
        values = {}
        for name, option in self._whole.items():
            value = parameters.get(name)
            values[name] = value if isinstance(value, int) else option.default
        return self._memory(values)

    def check(self) -> list[Finding]:
        """Whether the program is installed."""
        return check_kernels(self.program, (self.program,))

    def command(self, parameters: Mapping[str, Parameter]) -> Command:
        """Errors: MissingError where the program was not built."""
        arguments: list[str] = []
        for name in (*self._whole, *self._words):
            if name in parameters:
                arguments += [_option(name), str(parameters[name])]
        arguments += [_option(name) for name in self._flags if parameters.get(name)]
        folder = {SCRATCH: str(parameters.get("folder", FOLDER))}
        return Command(kernel_path(self.program), tuple(arguments), folder)

    def parse(self, stdout: str) -> tuple[Sample, ...]:
        """Time, volume and operations of the timed region, and what this program counts.

        Errors: as in `Workload.parse`.
        """
        figures = read_figures(stdout, self.program)
        duration = positive(figures, "duration_s")
        volume = finite(figures, "bytes_read") + finite(figures, "bytes_written")
        return (
            Sample("duration_s", duration, "s"),
            Sample(VOLUME, volume, "B"),
            Sample("operations", positive(figures, "operations"), "1"),
            Sample("throughput_bps", volume / duration, "B/s"),
            *(Sample(name, finite(figures, name), unit) for name, unit in self._figures.items()),
            *timed(figures),
        )


def timed(figures: Mapping[str, object]) -> list[Sample]:
    """CPU time of the timed region alone, of a program that knows it: its data set costs, too."""
    return [
        Sample(f"{TIMED}_{part}_s", finite(figures, f"{part}_s"), "s")
        for part in ("user", "system")
        if f"{part}_s" in figures
    ]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
