"""Converts the video options of several verbs of `aferir elastic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.program import VideoParameters
    from aferir.elastic.video import Video


def video_of(chosen: VideoParameters) -> Video:
    """The video that the parameters describe. Errors: UsageError if a value is impossible."""
    from aferir.elastic.video import Video

    try:
        return Video(
            seconds=chosen.video,
            bitrate_bps=chosen.bitrate_mbit * 1e6,
            sent_bps=chosen.sent_mbit * 1e6,
            content=chosen.content,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see --help") from None
