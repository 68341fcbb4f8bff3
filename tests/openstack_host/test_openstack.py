"""Instances of a real OpenStack: their phases, their end, and what a killed process leaves.

Minutes long and gigabytes large: `make test` leaves it out, and `make test-openstack` runs it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aferir import registry
from aferir.clouds import node_image, providers, remote
from aferir.elastic.allocation import allocate_once
from aferir.elastic.node import template
from aferir.elastic.video import Video, make
from aferir.errors import ProgramError
from aferir.image.progress import silent
from aferir.linux import journal, namespace
from aferir.machine import privileges
from aferir.model.cloud import Wanted
from tests.integration.support import first_answer, leftovers, own_state
from tests.openstack_host import settings
from tests.openstack_host.host import one_host

if TYPE_CHECKING:
    from openstack.connection import Connection

pytestmark = [
    pytest.mark.timeout(1800),
    # The SDK warns of what it does itself; elsewhere in the tests a warning is an error.
    pytest.mark.filterwarnings("default"),
]
WANTED = Wanted(provider="openstack", image="aferir-node", size="node", network="instances")


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The namespace of an OpenStack that has the image of a Node, and what it needs of us."""
    if not privileges.is_root():
        pytest.skip(f"OpenStack is installed by root; {privileges.as_root_command()}")
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        for name, value in settings.VARIABLES.items():
            patch.setenv(name, value)
        with one_host(tell) as made:
            within(made, lambda: upload(Path(tmp_path_factory.mktemp("node"))))
            yield made
        assert leftovers() == []


def tell(said: str) -> None:
    print(said, flush=True)  # noqa: T201 - it would be silent for minutes


def within(inside: str, work: Callable[[], None]) -> None:
    """Do it in a thread that is in that network namespace."""

    def enter() -> None:
        namespace.enter(inside)
        work()

    with ThreadPoolExecutor(1) as alone:
        alone.submit(enter).result()


def upload(folder: Path) -> None:
    """The image of a Node with a video of a second."""
    with tempfile.TemporaryDirectory() as name:
        node = template(make(Video(seconds=1.0), Path(name)), Path(name))
        made = node_image.make(node, folder, silent)
    cloud = connection()
    parts: dict[str, Any] = {}
    for field, path, form in (
        ("kernel_id", made.kernel, "aki"),
        ("ramdisk_id", made.initramfs, "ari"),
    ):
        part = cloud.image.create_image(
            form, filename=str(path), disk_format=form, container_format=form
        )
        parts[field] = part.id
    cloud.image.create_image(
        WANTED.image,
        filename=str(made.disk),
        disk_format="qcow2",
        container_format="bare",
        hw_vif_model="virtio",
        hw_disk_bus="virtio",
        os_command_line="console=ttyS0 quiet",
        **parts,
    )


def connection() -> Connection:
    import openstack

    return openstack.connect()


def servers() -> list[str]:
    return [str(server.name) for server in connection().compute.servers()]


def test_phases_add_up_to_what_an_outside_stopwatch_says_and_so_does_the_release(
    inside: str,
) -> None:
    def measure() -> None:
        made = providers.cloud(WANTED)
        assert [finding.status for finding in made.check()] == ["ok"]
        server = made.create()  # the first one copies the image to the host
        made.delete(server.name)
        with ThreadPoolExecutor(2) as outside:
            asked = time.perf_counter()
            address = outside.submit(next_address)
            watch = outside.submit(lambda: first_answer(address.result(), asked))
            server = made.create()
            known = {phase.name: phase.seconds or 0.0 for phase in server.phases}
            assert min(known.values()) > 0
            assert sum(known.values()) == pytest.approx(watch.result(), rel=0.1)
            assert server.total_s == pytest.approx(watch.result(), rel=0.1)
            asked = time.perf_counter()
            gone = outside.submit(until_gone, asked)
            made.delete(server.name)
            assert time.perf_counter() - asked == pytest.approx(gone.result(), rel=0.1, abs=0.1)
        figures = allocate_once(made)
        assert {one.metric for one in figures.samples} >= {"tef_s", "tci_s", "tii_s", "tlr_s"}
        assert figures.doubts == ()
        assert servers() == []

    within(inside, measure)


def next_address() -> str:
    """Address of the first server that has one, as another client of Nova sees it."""
    cloud = connection()
    while True:
        for server in cloud.compute.servers():
            for addresses in (server.addresses or {}).values():
                if addresses:
                    return str(addresses[0]["addr"])
        time.sleep(0.05)


def until_gone(asked: float) -> float:
    cloud = connection()
    while list(cloud.compute.servers(details=False)):
        time.sleep(0.05)
    return time.perf_counter() - asked


def test_clean_removes_an_instance_that_was_left(inside: str) -> None:
    def leave_and_clean() -> None:
        server = providers.cloud(WANTED).create()
        assert servers() == [server.name]
        (left,) = [entry for entry in journal.entries() if entry.kind == remote.KIND]
        assert registry.clean([left]) == []
        assert servers() == []

    within(inside, leave_and_clean)


def test_a_failed_allocation_is_in_novas_own_words_and_leaves_nothing(inside: str) -> None:
    def fail() -> None:
        connection().compute.create_flavor(name="huge", ram=50_000, vcpus=1, disk=0)
        wanted = Wanted(provider="openstack", image=WANTED.image, size="huge", network="instances")
        with pytest.raises(ProgramError, match="No valid host"):
            providers.cloud(wanted).create()
        assert servers() == []
        assert [entry for entry in journal.entries() if entry.kind == remote.KIND] == []

    within(inside, fail)


def test_what_the_cloud_does_not_have_is_named(inside: str) -> None:
    def ask() -> None:
        wanted = Wanted(provider="openstack", image="nothing", size="node")
        (finding,) = providers.cloud(wanted).check()
        assert (finding.status, "no image 'nothing'" in finding.message) == ("missing", True)

    within(inside, ask)
