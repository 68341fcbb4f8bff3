"""Viewers on the workers of a real cluster, watching real Nodes over loopback."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from aferir import registry
from aferir.clouds.base import Phase, Server
from aferir.elastic.audience import Seen, Share, run_share, shares, together
from aferir.elastic.front import Settings
from aferir.elastic.movie import Show, intended, play
from aferir.elastic.node import native_node
from aferir.elastic.simulate import Load
from aferir.elastic.spread import SpreadAudience, cluster
from aferir.elastic.video import Video, make
from aferir.elastic.viewers import Viewing
from aferir.errors import ProgramError
from aferir.linux import journal, undo
from aferir.model.finding import Finding
from tests.dask_cluster import dask_cluster, needs_dask
from tests.waiting import eventually

VIDEO = Video(seconds=2.0, content="random-bytes")
SHOW = Show(
    load=Load(clients=24, interarrival_s=0.05, video_s=2.0),
    policy=Settings(clients_per_node=10, patience_s=300.0),
    viewing=Viewing(startup_s=0.5),
    seed=(7, 0),
)
WATCHING = ["--bitrate", f"{VIDEO.bitrate_bps:.0f}", "--startup", "0.5", "--patience", "300"]


class Nginxes:
    """A cloud whose instances are processes of this machine."""

    provider = "processes"

    def __init__(self, video: Path) -> None:
        self._video = video
        self._there: dict[str, contextlib.ExitStack] = {}
        self._numbers = itertools.count()

    def check(self) -> list[Finding]:
        return []

    def create(self) -> Server:
        stack, name = contextlib.ExitStack(), f"node{next(self._numbers)}"
        node = stack.enter_context(native_node(self._video, sent_bps=VIDEO.limit_bps))
        self._there[name] = stack
        phase = Phase(name="TiI", seconds=0.1, source="a test", resolution_s=0.1)
        return Server(name=name, address="127.0.0.1", url=node.url, phases=(phase,), total_s=0.1)

    def delete(self, name: str) -> float:
        if stack := self._there.pop(name, None):
            stack.close()
        return 0.0

    def delete_all(self) -> None:
        for name in list(self._there):
            self.delete(name)

    def sent_bytes(self) -> int:
        return 0


class Remembering(SpreadAudience):
    """A cloud that stores the results of its viewers."""

    seen: Seen

    async def watch(
        self, url: str, options: Sequence[str], times_s: Sequence[float], *, limit_s: float
    ) -> Seen:
        self.seen = await super().watch(url, options, times_s, limit_s=limit_s)
        return self.seen


@pytest.fixture
def video(tmp_path: Path) -> Path:
    if shutil.which("nginx", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    for folder in (tmp_path, *tmp_path.parents[:3]):  # its worker, another user, reads the video
        folder.chmod(folder.stat().st_mode | 0o055)
    return make(VIDEO, tmp_path)


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two workers with temporary files and a journal of their own, which are clean afterwards."""
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))
    with dask_cluster(2, tmp_path) as address:
        yield address
    eventually(lambda: registry.clean(journal.orphans()) or not list(journal.entries()))
    assert list(temporary.glob("aferir-*")) == []


def arrivals_of(seen: Seen) -> list[float]:
    return sorted(time for part in seen.parts for time in part.intended_s)


def test_shares_of_one_schedule_see_together_what_all_of_it_sees_alone(video: Path) -> None:
    times, began_s = intended(SHOW), time.monotonic() - 3.0
    with native_node(video, sent_bps=VIDEO.limit_bps) as node:
        parts = [
            run_share(
                Share(
                    url=node.url,
                    options=tuple(WATCHING),
                    times_s=share,
                    begin_s=began_s,
                    limit_s=600.0,
                )
            )
            for share in shares(times, 2)
        ]
    whole = together(parts)
    assert (whole.clients, whole.served) == (24, 24)
    assert whole.received_bytes == 24 * video.stat().st_size
    assert arrivals_of(Seen(watched=whole, parts=tuple(parts))) == pytest.approx(times, abs=2e-6)
    # It began before the last of them was to come: each is as late as that, and says so.
    assert whole.worst_start_s > 1.0
    assert whole.startup_max_s >= whole.startup_median_s > 1.0


@needs_dask
def test_a_movie_has_the_same_viewers_on_two_workers_as_in_one_process(
    video: Path, workers: str, tmp_path: Path
) -> None:
    with cluster(workers) as client:
        audience = Remembering(client)
        audience.require_reach(SHOW.front)
        figures = play(SHOW, Nginxes(video), tmp_path, audience=audience)
    assert figures.verified
    values = {one.metric: one.value for one in figures.samples}
    assert values["requests"] == values["served"] + values["failed"] + values["blocked"] == 24
    assert "books-differ" not in {doubt.code for doubt in figures.doubts}
    assert arrivals_of(audience.seen) == pytest.approx(intended(SHOW), abs=2e-6)
    by_metric = {series.metric: series for series in figures.series}
    assert list(by_metric["viewers"].values) == [12, 12]
    assert len(set(by_metric["viewers"].at)) == 2
    assert values["viewers_hosts"] == 1
    # Both have this machine's clock: whatever they were told differs by what they were unsure of.
    bounds = by_metric["start_uncertainty_s"].values
    assert max(bounds) == values["start_uncertainty_s"] > 0


@needs_dask
def test_a_worker_that_dies_is_an_error_and_no_endless_wait(video: Path, workers: str) -> None:
    async def act(audience: SpreadAudience, url: str, victim: int) -> None:
        watching = asyncio.create_task(audience.watch(url, WATCHING, [60.0, 60.1], limit_s=300.0))
        while len(undo.processes(lambda words, _: url in words)) < 2:
            assert not watching.done(), watching.result()
            await asyncio.sleep(0.05)
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(ProgramError, match="is gone"):
            await watching

    with native_node(video) as node, cluster(workers) as client:
        victim = next(iter(client.run(os.getpid).values()))
        asyncio.run(act(SpreadAudience(client), node.url, victim))
