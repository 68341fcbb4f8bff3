"""Converts the video options of several verbs of `aferir elastic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aferir.errors import UsageError

if TYPE_CHECKING:
    from aferir.elastic.program import VideoParameters, ViewersParameters
    from aferir.elastic.video import Video
    from aferir.elastic.viewers import Viewing


def video_of(chosen: VideoParameters) -> Video:
    """The video that the parameters describe. Errors: UsageError if a value is impossible."""
    from aferir.elastic.video import Video

    try:
        return Video(
            seconds=chosen.video,
            bitrate_bps=1e6 * max(chosen.rates_mbit, default=chosen.bitrate_mbit),
            sent_bps=chosen.sent_mbit * 1e6,
            content=chosen.content,
            rates_bps=tuple(1e6 * rate for rate in sorted(chosen.rates_mbit)),
            segment_s=chosen.segment,
        )
    except ValueError as error:
        raise UsageError(str(error), remedy="see --help") from None


def viewing_of(chosen: ViewersParameters, video: Video) -> Viewing:
    """How the viewers that the parameters describe play the video."""
    from aferir.elastic.viewers import Viewing

    return Viewing(
        startup_s=chosen.startup,
        bitrate_bps=video.bitrate_bps,
        rule=chosen.rule if video.rates_bps else None,
        buffer_s=chosen.buffer,
    )
