"""The video that Nodes send: H.264 in MP4 at a constant rate, encoded by FFmpeg and cached."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process
from aferir.machine import packages
from aferir.model.record import Warning

VIDEO_BPS = 2_698_000
"""Bit rate at which the published video is played (Dutra 2015, 5.3)."""
SENT_BPS = 2_968_000
"""Bit rate at which the published video is sent to each client (Dutra 2015, 5.3)."""
NAME = "video.mp4"

Content = Literal["h264", "random-bytes"]
PROGRAMS = ("ffmpeg", "ffprobe")
RATES_BPS = (0.1e6, 100e6)

_FRAMES_HZ = 25
_PIECE_S = 30
_SETTLING_S = 2
"""Seconds that are encoded before the piece and then dropped, since the rate control needs time to
settle: the first second is a sixth above the rate.
"""
_BITS_PER_PIXEL = 0.47
"""Bits per pixel of noisy pictures: those of 640 x 360 at the published rate. The picture's size
is computed from the rate, so that the encoder neither starves nor pads."""
_AGREES = 0.05
_LIMIT_S = 1800.0


class Video(msgspec.Struct, frozen=True, kw_only=True):
    """The video that is sent, and its rates."""

    seconds: float
    bitrate_bps: float = VIDEO_BPS
    sent_bps: float = 0.0
    """Bit rate at which it is sent; 0: above the playing rate by the same factor as the published
    one, and segments without a limit."""
    content: Content = "h264"
    rates_bps: tuple[float, ...] = ()
    """Bit rates of a video in segments, ascending; the last one is its `bitrate_bps`. (): a video
    in one file."""
    segment_s: int = 4

    def __post_init__(self) -> None:
        """Check the values. Errors: ValueError that names an impossible one."""
        least, most = RATES_BPS
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"video: {self.seconds} s is no length")
        if not least <= self.bitrate_bps <= most:
            raise ValueError(f"bitrate: from {least / 1e6:g} to {most / 1e6:g} Mbit/s")
        if not all(least <= rate <= most for rate in self.rates_bps):
            raise ValueError(f"rates: from {least / 1e6:g} to {most / 1e6:g} Mbit/s")
        slowest_bps = min(self.rates_bps, default=self.bitrate_bps)
        if self.sent_bps and not slowest_bps <= self.sent_bps < math.inf:
            raise ValueError("sent: below the rate at which the video is played, all come too late")

    @property
    def limit_bps(self) -> int:
        """Bit rate at which NGINX sends the video to each client; 0: as fast as it can.

        A video in segments is only limited if that is asked for: its viewers wait between segments.
        """
        if self.rates_bps:
            return round(self.sent_bps)
        return round(self.sent_bps or self.bitrate_bps * SENT_BPS / VIDEO_BPS)


class Probed(msgspec.Struct, frozen=True):
    """Properties of a file's video according to ffprobe."""

    codec: str
    bitrate_bps: float
    seconds: float


def require(video: Video) -> None:
    """Check that the video can be made. Errors: MissingError if a program for it is missing."""
    lacking = packages.missing(PROGRAMS) if video.content == "h264" else []
    if lacking:
        raise MissingError(
            f"a video of H.264 is made by {' and '.join(lacking)}",
            remedy=f"{packages.install_command(lacking)}, "
            "or have random bytes sent instead (content: random-bytes)",
        )


def make(video: Video, folder: Path) -> Path:
    """Create the video in the folder, or link it from the cache.

    For random bytes, the file has the size of such a video. Errors: MissingError if FFmpeg is not
    installed, ProgramError if it fails or its result differs from the request.
    """
    path = folder / NAME
    if video.content == "random-bytes":
        _random_bytes(path, video)
        return path
    kept = journal.cache_folder() / "videos" / _file_name(video)
    if not kept.exists():
        require(video)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with _beside(kept) as made:
            _encode(video, made)
            _check(video, probe(made))
            made.chmod(0o644)  # NGINX's worker, another user, reads it
            made.replace(kept)
    try:
        os.link(kept, path)
    except OSError:  # another file system
        shutil.copyfile(kept, path)
    return path


def doubts(video: Video) -> tuple[Warning, ...]:
    """A warning if random bytes are sent instead of a video."""
    if video.content == "h264":
        return ()
    said = "random bytes were sent, as many as a video of that length and rate has"
    return (Warning("random-bytes", said, f"{packages.install_command(PROGRAMS)}, and use h264"),)


def probe(path: Path) -> Probed:
    """Properties of a file's video.

    Errors: MissingError if ffprobe is not installed, ProgramError if the file contains no video.
    """
    wanted = "stream=codec_name,bit_rate,duration"
    done = process.run(
        [
            *("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", wanted),
            *("-of", "default=noprint_wrappers=1", str(path)),
        ],
        timeout_s=_LIMIT_S,
    )
    said = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    try:
        return Probed(said["codec_name"], float(said["bit_rate"]), float(said["duration"]))
    except (KeyError, ValueError):
        raise ProgramError(f"{path.name} holds no video: {done.stdout.strip()[:200]}") from None


def picture(bitrate_bps: float) -> tuple[int, int]:
    """Width and height in pixels, about 16 to 9, both even as 4:2:0 requires."""
    pixels = bitrate_bps / _FRAMES_HZ / _BITS_PER_PIXEL
    width = math.sqrt(pixels * 16 / 9)
    return 2 * round(width / 2), 2 * round(width * 9 / 32)


def _encode(video: Video, path: Path) -> None:
    """Encode half a minute, and repeat it without encoding it again."""
    width, height = picture(video.bitrate_bps)
    rate = f"{video.bitrate_bps:.0f}"
    quiet = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"]
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".piece-") as name:
        settling, piece = Path(name) / "settling.mp4", Path(name) / "piece.mp4"
        source = f"testsrc2=size={width}x{height}:rate={_FRAMES_HZ},noise=alls=40:allf=t+u"
        process.run(
            [
                *quiet,
                *("-f", "lavfi", "-i", source, "-t", str(_SETTLING_S + _PIECE_S)),
                # With several threads the rate that is met depends on how busy the machine is.
                *("-c:v", "libx264", "-threads", "1", "-preset", "ultrafast"),
                *("-pix_fmt", "yuv420p"),
                *("-g", str(_FRAMES_HZ), "-keyint_min", str(_FRAMES_HZ), "-sc_threshold", "0"),
                *("-b:v", rate, "-minrate", rate, "-maxrate", rate),
                *("-bufsize", f"{video.bitrate_bps / 2:.0f}", "-x264-params", "nal-hrd=cbr"),
                str(settling),
            ],
            timeout_s=_LIMIT_S,
        )
        process.run(
            [*quiet, "-ss", str(_SETTLING_S), "-i", str(settling), "-c", "copy", str(piece)],
            timeout_s=_LIMIT_S,
        )
        process.run(
            [
                *quiet,
                *("-stream_loop", "-1", "-i", str(piece), "-t", f"{video.seconds:g}"),
                *("-c", "copy", "-movflags", "+faststart", "-f", "mp4", str(path)),
            ],
            timeout_s=_LIMIT_S,
        )


def _check(video: Video, made: Probed) -> None:
    """Raise ProgramError if the result differs from the request."""
    lasts = abs(made.seconds - video.seconds) <= max(2 / _FRAMES_HZ, 0.001 * video.seconds)
    rated = abs(made.bitrate_bps / video.bitrate_bps - 1) <= _AGREES
    if made.codec != "h264" or not lasts or not rated:
        raise ProgramError(
            f"FFmpeg made {made.seconds:g} s of {made.codec} at {made.bitrate_bps / 1e6:.3f} "
            f"Mbit/s, and {video.seconds:g} s at {video.bitrate_bps / 1e6:.3f} were asked for",
            remedy="choose another length or rate, or say that random bytes will do",
        )


def _random_bytes(path: Path, video: Video) -> None:
    with path.open("wb") as stream:
        left = max(1, round(video.seconds * video.bitrate_bps / 8))
        block = os.urandom(2**20)  # nothing that a disk or a network could compress
        while left > 0:
            left -= stream.write(block[:left])


def _file_name(video: Video) -> str:
    return f"h264-{video.bitrate_bps:.0f}-{video.seconds:g}.mp4"


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary path in the folder of `path`, so that two processes can make one file at once."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".making-") as name:
        yield Path(name) / path.name
