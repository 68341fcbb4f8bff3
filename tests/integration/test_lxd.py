"""A real LXD, by its REST socket, in a folder and a network namespace of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.integration.support import first_answer, leftovers, own_state

from aferir import environments, journal
from aferir.elastic.allocation import allocate_once
from aferir.elastic.node import template
from aferir.elastic.video import Video, make
from aferir.environments import image, lxd, lxd_server, namespace
from aferir.errors import ProgramError


@pytest.fixture
def cloud(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[lxd.LxdCloud, lxd.Place, str]]:
    for finding in (*lxd_server.check(), *image.check()):
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    own_state(tmp_path_factory, monkeypatch)
    base, folder = image.ensure(), tmp_path_factory.mktemp("node")
    node = template(make(Video(seconds=1.0), folder), folder)
    with lxd_server.lxd_server() as (place, inside):
        made = lxd.LxdCloud(place, lxd.add_image(place.socket, base.tree, node), node)
        yield made, place, inside
        made.delete_all()
    assert leftovers() == []


def test_lxd_allocates_with_phases_that_an_outside_stopwatch_confirms(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str],
) -> None:
    made, place, inside = cloud

    def measure() -> None:
        # In threads that are in LXD's network; the test itself stays where it is.
        namespace.enter(inside)
        with ThreadPoolExecutor(1) as outside:
            asked = time.perf_counter()
            watch = outside.submit(first_answer, f"{place.network}.{place.first}", asked)
            server = made.create()
            known = {phase.name: phase.seconds for phase in server.phases}
            assert known["TeF"] is None
            whole_s = (known["TcI"] or 0.0) + (known["TiI"] or 0.0)
            assert whole_s == pytest.approx(watch.result(), rel=0.1)
            assert server.total_s == pytest.approx(watch.result(), rel=0.1)
        assert lxd.tagged(place.socket) == [server.name]
        made.delete(server.name)
        made.delete(server.name)
        assert lxd.tagged(place.socket) == []
        figures = allocate_once(made)
        assert {one.metric for one in figures.samples} >= {"tar_s", "tci_s", "tii_s", "tlr_s"}
        assert [one.code for one in figures.doubts] == ["not-observable"]

    with ThreadPoolExecutor(1) as alone:
        alone.submit(measure).result()


def test_clean_removes_what_was_left_on_the_server(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str],
) -> None:
    made, place, inside = cloud

    def leave() -> None:
        namespace.enter(inside)
        made.create()

    with ThreadPoolExecutor(1) as alone:
        alone.submit(leave).result()
    (left,) = [entry for entry in journal.entries() if entry.kind == lxd.KIND]
    assert lxd.tagged(place.socket) == [lxd.name_of(left)]
    assert environments.clean([left]) == []
    assert lxd.tagged(place.socket) == []


def test_a_refusal_is_in_lxds_own_words_and_leaves_nothing(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str], tmp_path: Path
) -> None:
    _, place, _ = cloud
    (tmp_path / "file").write_text("x")
    node = template(tmp_path / "file", tmp_path)
    wrong = lxd.LxdCloud(place, "f" * 64, node)
    with pytest.raises(ProgramError, match="LXD"):
        wrong.create()
    assert lxd.tagged(place.socket) == []
    assert not [entry for entry in journal.entries() if entry.kind == lxd.KIND]
