"""Options of the video that several verbs of `aferir elastic` take."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.video import Video


def add_video(group: Any) -> None:
    """Declare them on a parser or a group of one."""
    add = group.add_argument
    add("--video", type=float, default=20.0, metavar="S", help="length (default: 20 s)")
    add("--bitrate-mbit", type=float, default=2.698, metavar="N", help="of it (default: 2.698)")
    add("--sent-mbit", type=float, default=0.0, metavar="N", help="default: 1.1 times as much")
    add("--content", choices=("h264", "random-bytes"), default="h264", help="default: h264")


def video_of(options: argparse.Namespace) -> Video:
    """What they say. Errors: UsageError where that is not possible."""
    from aferir.elastic.video import Video

    if not 1 <= options.video <= 7200:
        raise UsageError(f"--video {options.video}: not possible", remedy="from 1 to 7200")
    try:
        return Video(
            seconds=options.video,
            bitrate_bps=options.bitrate_mbit * 1e6,
            sent_bps=options.sent_mbit * 1e6,
            content=options.content,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see --help") from None
