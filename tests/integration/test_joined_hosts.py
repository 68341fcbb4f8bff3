"""Containers and guests of several hosts on a network of their own: MPI runs over it."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

import pytest

from aferir import registry
from aferir.cluster import manager
from aferir.environments.base import Instance
from aferir.environments.measured import Asked
from aferir.hosts.spread import Spread
from aferir.image import userland
from aferir.model.overlay import PORT
from aferir.programs.kernels import kernel_path
from aferir.programs.mpi import Mpi, placement_options
from tests.integration import real_hosts
from tests.integration.real_hosts import Lab
from tests.integration.support import usable
from tests.waiting import eventually

pytestmark = pytest.mark.integration
_LIMIT_S = 300.0
BY_MPI: dict[Mpi, tuple[str, ...]] = {
    "openmpi": manager.PACKAGES,  # an image that tests of clusters have, too
    "mpich": ("mpich", "openssh-client", "openssh-server"),
}
OTHERS = """
echo $AFERIR_HOSTS
"$AFERIR_ENTER" --start b 'echo $$ > /run/new; mv /run/new /run/pid; exec sleep 1000'
"$AFERIR_ENTER" b '
  while ! [ -e /run/pid ]; do sleep 0.1; done
  [ -e /proc/$(cat /run/pid) ] && echo runs'
"$AFERIR_ENTER" --stop b
"$AFERIR_ENTER" b '
  [ -e /proc/$(cat /run/pid) ] || echo ended
  echo $AFERIR_PROGRAMS; hostname; exit 3'
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with real_hosts.farm(tmp_path_factory, "a", "b") as made:
        yield made


@contextmanager
def joined(
    farm: Lab, kind: str, packages: tuple[str, ...], *, breaks: bool = False, **keys: Any
) -> Iterator[Instance]:
    """An environment of that kind on both hosts; nothing is left when it is released.

    With `breaks` it is not: the lines to the hosts' agents end instead.
    """
    usable(kind)
    userland.ensure(extra=packages)
    spec = registry.kinds()[kind].spec(
        name="n", kind=kind, cpus=1, memory_bytes=2**28, host="a,b", packages=packages, **keys
    )
    hosts = farm.hosts("a", "b")
    try:
        instance = Spread(hosts).environment(kind).allocate(spec)
        try:
            yield instance
        finally:
            if not breaks:
                instance.release()
    finally:
        for host in hosts:
            host.lose()
    eventually(lambda: not any(entries(farm, name) for name in "ab"))
    seen = "ip netns list; ip -o link show type vxlan; nft list tables"
    assert [farm.ssh(name, seen) for name in "ab"] == ["", ""]


def knock(place: str, address: str, number: int) -> None:
    """Send a frame for everybody from a namespace, as VXLAN packs it (RFC 7348, 5)."""
    frame = bytes.fromhex("ffffffffffff 02000a4e7777 88b5") + bytes(46)
    with real_hosts.inside(place), socket.socket(type=socket.SOCK_DGRAM) as sender:
        head = b"\x08\0\0\0" + number.to_bytes(3, "big") + b"\0"
        sender.sendto(head + frame, (address, PORT))


def turned_away(farm: Lab, name: str) -> tuple[int, int]:
    """Number of the network on a host, and how many packets of strangers it has dropped."""
    said = json.loads(farm.ssh(name, "nft -j list ruleset"))["nftables"]
    (rule,) = (one["rule"]["expr"] for one in said if "rule" in one)
    matches = [one["match"] for one in rule if "match" in one]
    (number,) = (one["right"] for one in matches if "offset" in one["left"]["payload"])
    (count,) = (one["counter"]["packets"] for one in rule if "counter" in one)
    return number, count


def check_strangers(farm: Lab) -> None:
    """A third machine of the hosts' network is turned away; a host of the experiment is not."""
    one, other = farm.machines["a"].place, farm.machines["b"].place
    number, before = turned_away(farm, "a")
    knock(farm.client, one.address, number)
    assert eventually(lambda: turned_away(farm, "a")[1] - before) == 1
    knock(farm.client, one.address, number ^ 1)  # which may be a network of somebody else's
    knock(other.name, one.address, number)
    knock(farm.client, one.address, number)
    assert eventually(lambda: turned_away(farm, "a")[1] - before - 1) == 1


def entries(farm: Lab, name: str) -> list[str]:
    """Kinds of the entries in a host's journal, some of which its agent may be erasing."""
    found = []
    for path in (farm.machines[name].folder / "state" / "journal").glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            found.append(json.loads(path.read_text(encoding="utf-8"))["kind"])
    return found


@pytest.mark.parametrize(
    ("kind", "mpi", "breaks"),
    [
        ("container", "openmpi", False),
        ("container", "mpich", False),
        ("oci", "openmpi", False),
        ("uml", "openmpi", True),  # its interface is in a namespace that its agent removes
    ],
)
def test_ranks_are_in_instances_of_both_hosts(
    farm: Lab, kind: str, mpi: Mpi, *, breaks: bool
) -> None:
    if mpi == "mpich" and userland.find(userland.host_recipe(BY_MPI[mpi])) is None:
        pytest.skip("the image with MPICH and ssh, which takes a minute to build, is not there")
    program = kernel_path(f"npb-mpi-ep-{mpi}")
    with joined(farm, kind, BY_MPI[mpi], breaks=breaks) as instance:
        check_strangers(farm)
        instance.put(program, PurePosixPath("/opt/aferir") / program.name)
        options = (f"mpirun.{mpi}", *placement_options(mpi, root=True))
        line = (*options, "-n", "2", f"/opt/aferir/{program.name}", "--class", "S")
        instance.pause()  # as between two runs of an experiment: a guest answers nothing then
        assert instance.accounting.elsewhere is not None
        measured = instance.accounting.elsewhere(Asked(line=line, timeout_s=_LIMIT_S))
        assert measured.done is not None, measured.failure
        figures = json.loads(measured.done.stdout.splitlines()[-1])
        assert (figures["verified"], figures["hosts"]) == (True, 2)
        instance.resume()
        done = instance.run(["sh", "-c", OTHERS], check=False)
        said = done.stdout.split("\n")[:-1]
        assert said == ["a b", "runs", "ended", "/opt/aferir", "b"], done.stderr
        assert done.exit_code == 3


def test_a_cluster_has_nodes_on_both_hosts(farm: Lab) -> None:
    """Three nodes, two on the first host, each of which trusts the others of both."""
    with joined(farm, "cluster", (), nodes=3) as instance:
        assert [entries(farm, name).count("container") for name in "ab"] == [2, 1]
        done = instance.run(["mpirun", "-N", "1", "hostname"])
        assert sorted(done.stdout.split()) == ["front", "node1", "node2"]
        back = ["ssh", "node2", "ssh", "node1", "hostname"]
        assert instance.run(back).stdout == "node1\n"
        done = instance.run(["sh", "-c", "echo $AFERIR_HOSTS; $AFERIR_ENTER node2 hostname"])
        assert done.stdout == "front node2\nnode2\n"
        mtu = "cat /sys/class/net/eth0/mtu"
        assert instance.run(["sh", "-c", f"{mtu}; ssh node2 {mtu}"]).stdout == "1450\n1450\n"
