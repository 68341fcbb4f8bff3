"""Where the three steps happen: simulated hosts, an image with a video, we among the clients."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from aferir.elastic import measured
from aferir.elastic.capacity import measure
from aferir.elastic.node import VIDEO_BPS, make_video, template
from aferir.environments import namespace
from aferir.environments.simulated import Layout, SimulatedCloud, simulated_cloud

Cache = Literal["cold", "warm"]
_SHORT_S = 10.0
_STARTUP_S = 0.5
_RESOLUTION = 0.2


class Stage(msgspec.Struct, frozen=True):
    """What a step on simulated hosts needs."""

    cloud: SimulatedCloud
    video: Path
    folder: Path
    """For files of the step; gone with the stage."""


@contextlib.contextmanager
def stage(
    layout: Layout, *, video_s: float, cache: Cache, progress: Callable[[str], None]
) -> Iterator[Stage]:
    """Make it, and remove everything whatever happens; from the main thread.

    The calling process is among the clients from then on, and stays in their network namespace.
    Errors: as `simulated_cloud`.
    """
    with tempfile.TemporaryDirectory(prefix="aferir-elastic-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # NGINX's worker, another user, reads the video
        video = make_video(folder, video_s)
        with simulated_cloud(layout, template(video, folder), progress) as cloud:
            namespace.enter(cloud.clients_namespace)
            if cache == "warm":
                cloud.fill_caches()
            yield Stage(cloud, video, folder)


def clients_per_node(layout: Layout, progress: Callable[[str], None]) -> int:
    """As step 1 found, for as many instances as a host takes; measured now where it did not.

    Errors: as `stage`.
    """
    known = measured.load(layout, VIDEO_BPS).clients_per_node(layout.per_host)
    if known is not None:
        return known
    progress(f"measuring how many streams a host with {layout.per_host} instances sustains")
    alone = msgspec.structs.replace(layout, hosts=1)
    with stage(alone, video_s=_SHORT_S, cache="warm", progress=progress) as made:
        figures = measure(
            made.cloud,
            made.video,
            instances=layout.per_host,
            startup_s=_STARTUP_S,
            resolution=_RESOLUTION,
        )
    measured.keep_streams(layout, VIDEO_BPS, layout.per_host, figures.samples[0].value)
    return measured.load(layout, VIDEO_BPS).clients_per_node(layout.per_host) or 1
