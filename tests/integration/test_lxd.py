"""A real LXD, by its REST socket, in a folder and a network namespace of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir import registry
from aferir.cli import main
from aferir.clouds import lxd, lxd_api, lxd_named, providers
from aferir.elastic.allocation import allocate_once
from aferir.elastic.node import template
from aferir.elastic.video import Video, make
from aferir.errors import ProgramError
from aferir.image import userland
from aferir.linux import journal, namespace
from aferir.machine import packages
from tests.integration import lxd_server
from tests.integration.support import first_answer, leftovers, own_state


@pytest.fixture
def cloud(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[lxd.LxdCloud, lxd.Place, str]]:
    for finding in (*lxd_server.check(), *userland.check()):
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    own_state(tmp_path_factory, monkeypatch)
    base, folder = userland.ensure(), tmp_path_factory.mktemp("node")
    node = template(make(Video(seconds=1.0), folder), folder)
    with lxd_server.lxd_server() as (place, inside):
        made = lxd.LxdCloud(place, lxd.add_image(place.socket, base.tree, node), node)
        yield made, place, inside
        made.delete_all()
    assert leftovers() == []


def test_lxd_allocates_with_phases_what_answers_those_outside(
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
            assert 0 < whole_s <= server.total_s * (1 + 1e-9)
            assert watch.result() < math.inf
        assert lxd.tagged(place.socket) == [server.name]
        made.delete(server.name)
        made.delete(server.name)
        assert lxd.tagged(place.socket) == []
        figures = allocate_once(made)
        assert {one.metric for one in figures.samples} >= {"tar_s", "tci_s", "tii_s", "tlr_s"}
        assert [one.code for one in figures.doubts] == ["not-observable"]

    with ThreadPoolExecutor(1) as alone:
        alone.submit(measure).result()


def aferir(inside: str, socket: Path, *words: str) -> dict[str, Any]:
    """Run aferir as a user in that network; return the figures by name."""
    within = ["nsenter", f"--net={namespace.FOLDER / inside}"]
    done = subprocess.run(
        [*within, sys.executable, "-m", "aferir", "elastic", "measure", *words, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LXD_DIR": str(socket.parent)},
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {one["metric"]: one["value"] for one in figures["samples"]}


@pytest.fixture
def named(cloud: tuple[lxd.LxdCloud, lxd.Place, str], tmp_path: Path) -> Path:
    """A file that names the server's bridge, and our image as a user makes and imports it."""
    _, place, _ = cloud
    assert main(["elastic", "image", str(tmp_path / "node"), "--form", "lxd", "--video", "1"]) == 0
    with (tmp_path / "node" / "node.tar").open("rb") as archive:
        made = lxd_api.do(place.socket, "POST", "/1.0/images", archive)["metadata"]["fingerprint"]
    alias = {"name": "aferir-node", "target": made}
    lxd_api.ask(place.socket, "POST", "/1.0/images/aliases", alias)
    disk = {"root": {"type": "disk", "path": "/", "pool": place.pool}}
    lxd_api.ask(place.socket, "PUT", "/1.0/profiles/default", {"devices": disk})
    path = tmp_path / "lxd.toml"
    path.write_text(f'provider = "lxd"\nimage = "aferir-node"\nnetwork = "{place.bridge}"\n')
    return path


def test_a_file_names_lxd_as_it_does_other_clouds(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str], named: Path
) -> None:
    _, place, inside = cloud
    once = aferir(inside, place.socket, "allocation", "--cloud", str(named))
    assert 0 < once["tci_s"] + once["tii_s"] <= once["duration_s"] * (1 + 1e-9)
    assert once["tlr_s"] > 0
    movie = aferir(
        *(inside, place.socket, "movie", "--cloud", str(named), "--clients-per-node", "4"),
        *("--clients", "8", "--interarrival", "0.05", "--video", "1", "--patience", "300"),
    )
    assert movie["requests"] == movie["served"] == 8
    assert movie["allocations"] >= 2
    assert lxd.tagged(place.socket) == []


def test_what_the_server_does_not_have_is_said_with_what_would_do(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str], named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, place, _ = cloud
    monkeypatch.setenv("LXD_DIR", str(place.socket.parent))
    wanted = providers.read_wanted(named)
    assert [finding.status for finding in providers.cloud(wanted).check()] == ["ok"]
    for changes, said, remedy in (
        ({"image": "of nobody"}, "no image 'of nobody'", "--form lxd"),
        ({"image": ""}, "no image ''", "--form lxd"),
        ({"network": "nowhere"}, "no bridge 'nowhere'", "network ="),
        ({"network": "lo"}, "addresses that do not do", "24 bits"),
    ):
        wrong = msgspec.structs.replace(wanted, **changes)
        (finding,) = providers.cloud(wrong).check()
        assert finding.status == "missing"
        assert said in finding.message
        assert remedy in finding.remedy
    monkeypatch.setenv("LXD_DIR", "/nowhere")
    (finding,) = providers.cloud(wanted).check()
    assert finding.status == "missing"


def test_addresses_of_a_bridge_that_is_lxds_own_are_reserved_there(
    cloud: tuple[lxd.LxdCloud, lxd.Place, str], named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if packages.missing(("dnsmasq",)):
        pytest.skip("needs dnsmasq: apt-get install dnsmasq-base")
    _, place, inside = cloud
    config = {"ipv4.address": "10.79.0.2/24", "ipv6.address": "none"}
    config |= dict.fromkeys(("ipv4.nat", "ipv4.firewall", "ipv6.firewall"), "false")
    wanted_bridge = {"name": "own", "type": "bridge", "config": config}
    lxd_api.ask(place.socket, "POST", "/1.0/networks", wanted_bridge)
    monkeypatch.setenv("LXD_DIR", str(place.socket.parent))
    made = providers.cloud(msgspec.structs.replace(providers.read_wanted(named), network="own"))

    def measure() -> None:
        namespace.enter(inside)
        server = made.create()
        leases = lxd_api.ask(place.socket, "GET", "/1.0/networks/own/leases")
        assert server.address == "10.79.0.3"  # the bridge has 2
        assert server.address in {lease["address"] for lease in leases}
        # Another of us leaves alone what is in use.
        assert 3 in lxd_named.place(place.socket, "own", "default").taken
        made.delete(server.name)

    try:
        with ThreadPoolExecutor(1) as alone:
            alone.submit(measure).result()
    finally:
        made.delete_all()
        lxd_api.ask(place.socket, "DELETE", "/1.0/networks/own")


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
    assert registry.clean([left]) == []
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
