"""Sets up a step: simulated hosts, an image with a video, and this process among the clients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from aferir.clouds import stock
from aferir.clouds.base import Template
from aferir.clouds.simulated import CLIENTS_ADDRESS, Layout, SimulatedCloud, simulated_cloud
from aferir.elastic import measured
from aferir.elastic.capacity import measure, simulated
from aferir.elastic.node import content, native_node, template
from aferir.elastic.segments import files, make
from aferir.elastic.video import Video
from aferir.elastic.viewers import Viewing
from aferir.errors import ProgramError
from aferir.linux import namespace, scratch
from aferir.model.cloud import Context

Cache = Literal["cold", "warm"]
_SOURCE_PORT = 8080
"""Port of the clients' namespace at which instances fetch the video."""
_SHORT_S = 10.0
_STARTUP_S = 0.5
_RESOLUTION = 0.2


class Stage(msgspec.Struct, frozen=True):
    """Resources of a step on simulated hosts."""

    cloud: SimulatedCloud
    video: Video
    path: Path
    """Path of the video."""
    folder: Path
    """Folder for files of the step; it is removed with the stage."""


@contextlib.contextmanager
def stage(
    layout: Layout,
    video: Video,
    *,
    cache: Cache,
    context: Context = "image",
    progress: Callable[[str], None],
) -> Iterator[Stage]:
    """Set up everything, and remove it afterwards in any case; call it in the main thread.

    The calling process enters the clients' network namespace and stays in it. Instances that are
    told what to do fetch the video from there. Errors: as `simulated_cloud`.
    """
    with scratch.folder(0o755) as folder:  # NGINX's worker, another user, reads the video
        path = make(video, folder)
        node = _template(context, video, path, folder)
        with simulated_cloud(layout, node, progress) as cloud, contextlib.ExitStack() as stack:
            namespace.enter(cloud.clients_namespace)
            if node.user_data:
                served = native_node(path, sent_bps=0, address=CLIENTS_ADDRESS, port=_SOURCE_PORT)
                stack.enter_context(served)
            if cache == "warm":
                cloud.fill_caches()
            yield Stage(cloud, video, path, folder)


def _template(context: Context, video: Video, path: Path, folder: Path) -> Template:
    """Image of an instance that learns in this way what it is to do."""
    if context == "image":
        return template(path, folder, sent_bps=video.limit_bps)
    if context == "none":
        return stock.bare()
    source = f"http://{CLIENTS_ADDRESS}:{_SOURCE_PORT}/{path.name}"
    names = [file.name for file in files(path)]
    told = content(source, sent_bps=video.limit_bps, names=names)
    return stock.template(context, told, f"/{path.name}", folder)


def clients_per_node(layout: Layout, video: Video, progress: Callable[[str], None]) -> int:
    """Streams per instance on a full host, from step 1; measured now if it is not known.

    Errors: as `stage`; ProgramError if a host sustains no stream at all.
    """
    known = measured.load(layout, video).clients_per_node(layout.per_host)
    if known is not None:
        return known
    progress(f"measuring how many streams a host with {layout.per_host} instances sustains")
    alone = msgspec.structs.replace(layout, hosts=1)
    short = msgspec.structs.replace(video, seconds=_SHORT_S)
    with stage(alone, short, cache="warm", progress=progress) as made:
        figures = measure(
            simulated(made.cloud, made.video, made.path, layout.per_host),
            made.video,
            instances=layout.per_host,
            rate_bps=layout.rate_bps,
            viewing=Viewing(startup_s=_STARTUP_S, bitrate_bps=video.bitrate_bps),
            resolution=_RESOLUTION,
        )
    measured.keep_streams(layout, video, layout.per_host, figures.samples[0].value)
    found = measured.load(layout, video).clients_per_node(layout.per_host)
    if found is None:
        raise ProgramError(
            f"a host with {layout.per_host} instances sustained not a single stream",
            remedy="stop what else runs here, or say how many viewers a Node serves "
            "(clients_per_node)",
        )
    return found
