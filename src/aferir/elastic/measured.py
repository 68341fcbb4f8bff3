"""Stores what steps 1 and 2 measured, for step 3: a host's capacity, and allocation times."""

from __future__ import annotations

from pathlib import Path

import msgspec

from aferir.clouds.simulated import Layout
from aferir.elastic.video import Video
from aferir.linux import journal
from aferir.model.cloud import Context

_MOST_LATENCIES = 20


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Results for one kind of host; empty if nothing has been measured yet."""

    streams: dict[int, float] = {}
    """Streams that the host sustained, by the number of instances (0: the host itself)."""
    allocation_s: dict[str, tuple[float, ...]] = {}
    """Latest allocation times in seconds: `cold` and `warm`, with the context unless it is `image`.
    """

    def clients_per_node(self, instances: int) -> int | None:
        """Streams per instance; None if not measured, or none was sustained."""
        streams = self.streams.get(instances, 0.0)
        return max(1, int(streams // max(1, instances))) if streams else None


def condition(cache: str, context: Context) -> str:
    """Key of the allocation times for that state of the cache and way of contextualisation."""
    return cache if context == "image" else f"{cache}-{context}"


def load(layout: Layout, video: Video) -> Measured:
    """Stored results for a host of this kind; empty if the file is missing or unreadable."""
    try:
        return msgspec.json.decode(_path(layout, video).read_bytes(), type=Measured)
    except (OSError, msgspec.DecodeError):
        return Measured()


def keep_streams(layout: Layout, video: Video, instances: int, streams: float) -> None:
    """Store a capacity; it replaces an earlier one. Errors: OSError."""
    known = load(layout, video)
    _save(
        layout,
        video,
        msgspec.structs.replace(known, streams={**known.streams, instances: streams}),
    )


def keep_allocation(layout: Layout, video: Video, condition: str, seconds: float) -> None:
    """Store an allocation time; only the last 20 are kept. Errors: OSError."""
    known = load(layout, video)
    latest = (*known.allocation_s.get(condition, ()), seconds)[-_MOST_LATENCIES:]
    _save(
        layout,
        video,
        msgspec.structs.replace(known, allocation_s={**known.allocation_s, condition: latest}),
    )


def _save(layout: Layout, video: Video, known: Measured) -> None:
    content = msgspec.json.format(msgspec.json.encode(known))
    journal.write_durably(_path(layout, video), content)


def _path(layout: Layout, video: Video) -> Path:
    """Path of the stored results; it contains all properties that determine a host's capacity."""
    quota = layout.cpus * (layout.cpu_quota or 1.0)
    name = f"{layout.technology}-{layout.rate_bps:.0f}-{quota:g}"
    name += f"-{video.bitrate_bps:.0f}-{video.limit_bps}"
    if video.rates_bps:
        name += f"-segments-{video.segment_s}"
    return journal.state_folder() / "elastic" / f"{name}.json"
