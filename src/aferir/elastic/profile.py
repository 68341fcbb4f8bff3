"""CPU profile by program and symbol, sampled by perf(1) on all CPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from aferir.errors import AferirError, MissingError, ProgramError
from aferir.linux import process
from aferir.machine import packages
from aferir.model.record import Series, Warning

_HZ = "199"
"""Sampling rate in Hz: neither a divisor nor a multiple of the 100 Hz at which other things happen.
"""
_MOST_ROWS = 15
_LIMIT_S = 120.0
_END_S = 20.0

Shares = dict[tuple[str, str], float]
"""Percent of all samples, including idle ones (`swapper`), by program and symbol."""


class Profile:
    """Result of a profile, filled when it ends."""

    def __init__(self) -> None:
        self.series: tuple[Series, ...] = ()
        self.doubts: tuple[Warning, ...] = ()


@contextlib.contextmanager
def profiled(folder: Path) -> Iterator[Profile]:
    """Sample while the body runs; if that is not permitted, the profile contains a warning."""
    made = Profile()
    data, said = folder / "perf.data", folder / "perf.said"
    try:
        require()
    except AferirError as error:
        made.doubts = (_doubt(error.message, error.remedy),)
        yield made
        return
    recorder = ["perf", "record", "-a", "-e", "cpu-clock", "-F", _HZ, "-o", str(data)]
    with said.open("wb") as stream:
        child = process.start(recorder, stderr=stream.fileno())
        try:
            yield made
        finally:
            process.end(child, _END_S)
    try:
        made.series = _series(_read(data))
    except AferirError as error:
        first = said.read_text(encoding="utf-8", errors="replace").strip().partition("\n")[0]
        made.doubts = (_doubt(first or error.message, error.remedy),)


def require() -> None:
    """Check that perf can sample all CPUs.

    Errors: MissingError if perf is not installed, ProgramError if it lacks the permission.
    """
    if packages.missing(["perf"]):
        raise MissingError("perf is not here", remedy=packages.install_command(["perf"]))
    try:
        process.run(
            ["perf", "stat", "-a", "-e", "cpu-clock", "--", "true"],
            environment={"LC_ALL": "C"},
            timeout_s=_LIMIT_S,
        )
    except ProgramError:
        raise ProgramError(
            "perf may not look at all processors here",
            remedy="run as root, or set kernel.perf_event_paranoid to 0 or below",
        ) from None


def parse(text: str) -> Shares:
    """Shares from `perf report -t ';' -F overhead,comm,sym`: lines of percent, program, symbol."""
    shares: Shares = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(";", 2)]
        if len(fields) != 3 or not fields[0].endswith("%"):
            continue
        with contextlib.suppress(ValueError):
            share = float(fields[0].removesuffix("%"))
            place = (fields[1], fields[2])
            shares[place] = shares.get(place, 0.0) + share
    return shares


def _read(data: Path) -> Shares:
    columns = ["--sort", "comm,sym", "-F", "overhead,comm,sym", "-t", ";"]
    report = ["perf", "report", "-i", str(data), "--stdio", *columns]
    shares = parse(process.run(report, timeout_s=_LIMIT_S).stdout)
    if not shares:
        raise ProgramError("perf saw nothing", remedy="a longer video")
    return shares


def _series(shares: Shares) -> tuple[Series, ...]:
    programs: dict[str, float] = {}
    for (program, _), share in shares.items():
        programs[program] = programs.get(program, 0.0) + share
    symbols = {f"{program} {symbol}": share for (program, symbol), share in shares.items()}
    return _most("program", programs), _most("symbol", symbols)


def _most(along: str, shares: dict[str, float]) -> Series:
    rows = sorted(shares.items(), key=lambda row: -row[1])[:_MOST_ROWS]
    return Series(
        metric="cpu_share_percent",
        unit="%",
        values=tuple(share for _, share in rows),
        along=along,
        at=tuple(name for name, _ in rows),
    )


def _doubt(message: str, remedy: str) -> Warning:
    return Warning("no-profile", f"no profile of the processors: {message}", remedy)
