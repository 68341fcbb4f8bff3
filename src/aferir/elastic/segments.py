"""A video in segments at several rates (MPEG-DASH, ISO/IEC 23009-1), made and cached as videos are.

FFmpeg encodes the video once for each rate, cuts all of them into segments of one length, and
writes the manifest. NGINX sends these files as they are.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from aferir.elastic import video as one_file
from aferir.elastic.video import Video
from aferir.errors import ProgramError
from aferir.linux import journal, process

MANIFEST = "video.mpd"
_SEGMENT = "$RepresentationID$-$Number$.m4s"
_FIRST = "$RepresentationID$.mp4"
_LIMIT_S = 1800.0
_AGREES = 0.06
"""Largest difference between the size of a rate's segments and that of the rate itself, as a share:
that of the encoder, and the segments' headers."""


def make(video: Video, folder: Path) -> Path:
    """Create the video in the folder; returns the path of the file that viewers request first.

    Errors: as `video.make`.
    """
    if not video.rates_bps:
        return one_file.make(video, folder)
    kept = journal.cache_folder() / "videos" / _name(video)
    if not kept.exists():
        one_file.require(video)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as name:
            made = Path(name) / kept.name
            made.mkdir()
            _cut(video, Path(name), made)
            _check(video, made)
            for path in (made, *made.iterdir()):
                path.chmod(0o755 if path.is_dir() else 0o644)  # NGINX's worker reads them
            try:
                made.rename(kept)
            except OSError:
                if not kept.exists():  # else another process was faster
                    raise
    shutil.copytree(kept, folder / "segments", copy_function=_link)
    return folder / "segments" / MANIFEST


def files(path: Path) -> tuple[Path, ...]:
    """All files that viewers request, if they request `path` first."""
    return tuple(sorted(path.parent.iterdir())) if path.name == MANIFEST else (path,)


def _cut(video: Video, work: Path, made: Path) -> None:
    """Encode every rate, and cut them at the same moments."""
    inputs: list[str] = []
    maps: list[str] = []
    for number, rate in enumerate(video.rates_bps):
        place = work / str(number)
        place.mkdir()
        alone = msgspec.structs.replace(video, bitrate_bps=rate, sent_bps=0.0, rates_bps=())
        inputs += ["-i", str(one_file.make(alone, place))]
        maps += ["-map", str(number)]
    process.run(
        [
            *("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y", *inputs, *maps),
            # Pictures of different rates are not of exactly one shape; DASH requires that.
            *("-c", "copy", "-aspect", "16:9", "-f", "dash", "-seg_duration", str(video.segment_s)),
            *("-use_template", "1", "-use_timeline", "0", "-adaptation_sets", "id=0,streams=v"),
            *("-init_seg_name", _FIRST, "-media_seg_name", _SEGMENT, str(made / MANIFEST)),
        ],
        timeout_s=_LIMIT_S,
    )


def _check(video: Video, made: Path) -> None:
    """Raise ProgramError if segments are missing, or their sizes are not those of the rate."""
    wanted = math.ceil(video.seconds / video.segment_s - 1e-3)
    for number, rate in enumerate(video.rates_bps):
        sizes = [path.stat().st_size for path in made.glob(f"{number}-*.m4s")]
        if len(sizes) != wanted or abs(8 * sum(sizes) / video.seconds / rate - 1) > _AGREES:
            raise ProgramError(
                f"FFmpeg made {len(sizes)} segments of {sum(sizes)} B together, and {wanted} of "
                f"{video.segment_s} s at {rate / 1e6:g} Mbit/s were asked for",
                remedy="choose another length, or other rates",
            )


def _name(video: Video) -> str:
    rates = "-".join(f"{rate:.0f}" for rate in video.rates_bps)
    return f"dash-{rates}-{video.segment_s}-{video.seconds:g}"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
