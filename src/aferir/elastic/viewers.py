"""Runs the viewers' program, `video-clients`, as clients of Front and NGINX."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from aferir.elastic.video import VIDEO_BPS
from aferir.errors import ProgramError, TimeoutExpired
from aferir.linux import process
from aferir.programs.kernels import kernel_path, read_figures

PROGRAM = "video-clients"


class Viewing(msgspec.Struct, frozen=True, kw_only=True):
    """How viewers play a video."""

    startup_s: float
    """Seconds of video that a viewer buffers before it plays."""
    bitrate_bps: float = VIDEO_BPS
    """Bit rate at which a video in one file is played."""
    rule: str | None = None
    """Rule by which viewers choose the rate of each segment; None: the video is in one file."""
    buffer_s: float = 12.0
    """Seconds of a video in segments that a viewer buffers at most."""

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the viewers' program."""
        startup = ("--startup", str(self.startup_s))
        if self.rule is None:
            return (*startup, "--bitrate", f"{self.bitrate_bps:.0f}")
        return (*startup, "--rule", self.rule, "--buffer", str(self.buffer_s))


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Output of the viewers' program; see docs/reference/video-clients.md."""

    duration_s: float
    clients: int
    served: int
    abandoned: int
    blocked: int
    failed: int
    clients_with_violations: int
    violations: int
    own_violations: int
    stalled_s: float
    longest_stall_s: float
    leaves_unheard: int
    received_bytes: int
    startup_median_s: float
    startup_p95_s: float
    startup_max_s: float
    cpu_s: float
    worst_turn_s: float
    worst_start_s: float
    bytes_by_second: tuple[int, ...]
    streaming_by_second: tuple[int, ...]
    rates_bps: tuple[float, ...] = ()
    """Bit rates at which a video in segments could be had."""
    seconds_at_rate: tuple[float, ...] = ()
    """Seconds of video that all viewers together fetched at each of these rates."""
    switches: int = 0
    gained_s: float = 0.0
    """Seconds by which viewers' buffers were fuller at the last segment than at the beginning."""


def schedule(times_s: Sequence[float], path: Path) -> None:
    """Write arrival times to a file, with a resolution of a microsecond."""
    path.write_text("".join(f"{time:.6f}\n" for time in times_s), encoding="ascii")


def command(url: str, options: Sequence[str]) -> list[str]:
    """The command line. Errors: MissingError if the program was not built."""
    return [str(kernel_path(PROGRAM)), "--url", url, *options]


async def run(line: Sequence[str], *, limit_s: float) -> Watched:
    """Run a command line of the viewers' program until it ends.

    Errors: ProgramError if it fails, TimeoutExpired.
    """
    child = process.start(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        stdout, stderr = await asyncio.to_thread(child.communicate, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise TimeoutExpired(f"`{PROGRAM}` was ended after {limit_s:g} s") from None
    finally:
        process.end(child)
    if child.returncode != 0:
        raise ProgramError(f"`{PROGRAM}` failed: {stderr.strip()[-300:]}")
    return read(stdout)


def read(stdout: str) -> Watched:
    """Parse the program's output. Errors: ProgramError if it is malformed."""
    try:
        return msgspec.convert(read_figures(stdout, PROGRAM), Watched)
    except msgspec.ValidationError as error:
        raise ProgramError(f"`{PROGRAM}` printed no readable result: {error}") from None
