"""An instance of a simulated host that Ignition, as Debian has it, makes a Node of.

The same by cloud-init, and in guests, is a part of `python -m benchmarks elastic`: its image takes
minutes to build.
"""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from aferir.clouds import simulated, stock
from aferir.elastic.node import content, native_node
from aferir.image import userland
from aferir.linux import namespace
from tests.integration.support import leftovers, own_state

PORT = 8080


def test_ignition_makes_a_node_of_a_container(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for finding in simulated.check("container"):
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    program = Path(stock.IGNITION)
    if not program.exists():
        pytest.skip("Ignition is not installed: apt-get install ignition")
    own_state(tmp_path_factory, monkeypatch)
    userland.ensure()
    video = tmp_path / "video.mp4"
    video.write_bytes(b"not a video")
    for parent in (tmp_path, *tmp_path.parents[:3]):  # NGINX's worker is another user
        parent.chmod(parent.stat().st_mode | 0o055)
    source = f"http://{simulated.CLIENTS_ADDRESS}:{PORT}/{video.name}"
    told = stock.template("ignition", content(source), "/video.mp4", tmp_path)
    node = msgspec.structs.replace(told, packages=(), files={**told.files, stock.IGNITION: program})

    def served() -> bytes:
        # In a thread that is among the clients; the test itself stays where it is.
        with simulated.simulated_cloud(simulated.Layout(hosts=1), node) as cloud:
            namespace.enter(cloud.clients_namespace)
            with native_node(video, sent_bps=0, address=simulated.CLIENTS_ADDRESS, port=PORT):
                server = cloud.create()
                answer: bytes = urllib.request.urlopen(server.url).read()  # noqa: S310
                return answer

    with ThreadPoolExecutor(1) as alone:
        assert alone.submit(served).result() == b"not a video"
    assert leftovers() == []
