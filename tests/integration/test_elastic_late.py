"""Instances that are still being allocated when the last viewer has left."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from aferir.clouds.base import Server
from aferir.elastic import movie
from aferir.elastic.front import Settings
from aferir.elastic.service import Service
from aferir.elastic.simulate import Load
from aferir.elastic.viewers import Viewing
from aferir.errors import TimeoutExpired
from aferir.model.finding import Finding

SHOW = movie.Show(
    load=Load(clients=2, interarrival_s=0.05, video_s=1.0),
    policy=Settings(clients_per_node=2, patience_s=0.2),
    viewing=Viewing(startup_s=0.5),
    seed=(1, 0),
)


class Late:
    """A cloud whose allocations end once `goes_on` is set."""

    provider = "late"

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.goes_on = threading.Event()
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def check(self) -> list[Finding]:
        return []

    def create(self) -> Server:
        self.goes_on.wait()
        with self._lock:
            name = f"node{next(self._numbers)}"
            self.there.add(name)
        url = "http://127.0.0.1:9/video.mp4"
        return Server(name=name, address="127.0.0.1", url=url, phases=(), total_s=1.0)

    def delete(self, name: str) -> float:
        self.there.discard(name)
        return 0.0

    def delete_all(self) -> None:
        self.there.clear()

    def sent_bytes(self) -> int:
        return 0


def before(patch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Let the service act before its method of that name begins."""
    method = getattr(Service, name)

    async def both(service: Service) -> None:
        act()
        await method(service)

    patch.setattr(Service, name, both)


@pytest.fixture(autouse=True)
def patient_viewers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a viewer would give up by itself before Front blocks it."""
    monkeypatch.setattr(movie, "_GRACE_S", 60.0)


def test_an_allocation_that_outlasts_all_patience_is_awaited_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = Late()
    before(monkeypatch, "settled", cloud.goes_on.set)
    figures = movie.play(SHOW, cloud, tmp_path)
    assert figures.verified
    values = {one.metric: one.value for one in figures.samples}
    assert (values["requests"], values["blocked"], values["allocations"]) == (2, 2, 1)
    assert cloud.there == set()


def test_an_allocation_that_does_not_end_is_reported_and_is_no_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movie, "_RELEASES_S", 0.5)
    cloud = Late()
    before(monkeypatch, "stop", cloud.goes_on.set)
    show = msgspec.structs.replace(SHOW, allocation_s=0.1)
    with pytest.raises(TimeoutExpired, match="after the last viewer had gone"):
        movie.play(show, cloud, tmp_path)
    assert cloud.there == set()
