"""Runs loads that keep CPUs busy while power is read: loops, or FFmpeg in an endless job."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from aferir.errors import MissingError
from aferir.linux import process, scratch
from aferir.machine import packages

Load = Literal["spin", "ffmpeg"]
LOADS = get_args(Load)

_SPIN = "while True: pass"
_PICTURES = "testsrc2=size=1280x720:rate=30:duration=4"
_MAKE_S = 120.0


@contextmanager
def busy(load: Load, cpus: Sequence[int]) -> Iterator[None]:
    """Keep `cpus` busy, each by a process of its own; none outlives this process.

    `ffmpeg` decodes and encodes one H.264 video of 720 lines over and over, as Dutra 2015, 5.5, did
    with several. Errors: MissingError if FFmpeg is not installed.
    """
    with scratch.folder() as folder:
        command = _transcoding(folder) if load == "ffmpeg" and cpus else _spinning()
        children = [process.start(command, cpus=[cpu]) for cpu in cpus]
        try:
            yield
        finally:
            for child in children:
                process.end(child)


def _spinning() -> list[str]:
    return [sys.executable, "-c", _SPIN]


def _transcoding(folder: Path) -> list[str]:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise MissingError("there is no ffmpeg here", remedy=packages.install_command(["ffmpeg"]))
    clip = str(folder / "clip.mp4")
    quiet = [ffmpeg, "-nostdin", "-loglevel", "error"]
    coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-threads", "1"]
    process.run([*quiet, "-f", "lavfi", "-i", _PICTURES, *coded, clip], timeout_s=_MAKE_S)
    return [*quiet, "-threads", "1", "-stream_loop", "-1", "-i", clip, *coded, "-f", "null", "-"]
