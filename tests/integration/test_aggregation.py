"""Real test networks: they carry the traffic, survive a cut link, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import registry
from aferir.aggregation import guard, places
from aferir.aggregation.applying import Wish
from aferir.aggregation.measure import Result, measure
from aferir.aggregation.places import Place, place
from aferir.aggregation.ranks import RANKS_IN, Job, RanksIn
from aferir.aggregation.traffic import PROGRAM, Task
from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, namespace, process
from aferir.machine import packages
from aferir.model.network import (
    Bonding,
    Event,
    Mptcp,
    Multipath,
    MultiRail,
    Network,
    Single,
    Traffic,
)
from aferir.programs.kernels import kernel_path
from tests.integration.support import leftovers, namespaces_of, own_state, usable
from tests.waiting import eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("state"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(
        bool(packages.missing(["ip", "tc", "ethtool"])), reason="needs iproute2 and ethtool"
    ),
]
RATE = 20_000_000
CARRIED = 10_000
"""Bytes that no link carries whose addresses are asked for and no more."""
MEASURING = """
from aferir.aggregation.places import place
from aferir.aggregation.traffic import Task
from aferir.model.network import Network, Single, Traffic
from aferir.programs.kernels import kernel_path
with place("namespaces", kernel_path("network-stream")) as found:
    print("go", flush=True)
    network = Network(links=2, rate_bits=20_000_000)
    found.measure(Task(network=network, method=Single(), traffic=Traffic(seconds=60)))
"""


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def here(state: Path) -> Iterator[Place]:
    with place("namespaces", stream()) as found:
        yield found
    assert namespaces_of(state) == []
    assert leftovers() == []


def stream() -> Path:
    try:
        return kernel_path(PROGRAM)
    except MissingError as error:
        pytest.skip(error.message)


def network(links: int) -> Network:
    return Network(links=links, rate_bits=RATE)


def test_one_connection_uses_all_links_under_mptcp_and_one_without(here: Place) -> None:
    short = Traffic(seconds=1.5)
    single = measure(here, Task(network=network(3), method=Single(), traffic=short))
    several = measure(here, Task(network=network(3), method=Mptcp(), traffic=short))
    assert len(several.link_bytes) == 3
    assert single.link_bytes["eth0"] > CARRIED > single.link_bytes["eth1"]
    assert min(several.link_bytes.values()) > CARRIED


def test_connections_spread_over_routes(here: Place) -> None:
    many = Traffic(seconds=1.0, connections=16)
    found = measure(here, Task(network=network(2), method=Multipath(), traffic=many))
    assert min(found.link_bytes.values()) > CARRIED


def test_a_transfer_outlives_a_cut_link(here: Place) -> None:
    task = Task(
        network=network(2),
        method=Mptcp(),
        traffic=Traffic(seconds=4.0),
        events=(Event(2.0, 0),),  # on a busy machine both links take a while to carry something
    )
    found = measure(here, task)
    assert found.verified
    assert min(found.link_bytes.values()) > CARRIED


def over_links(ranks_in: RanksIn, seconds: int = 0) -> Job:
    if absent := packages.missing(["mpirun.openmpi", "lxc-execute"]):
        pytest.skip(f"needs {', '.join(absent)}")
    try:
        program = str(kernel_path("npb-mpi-is-openmpi"))
    except MissingError as error:
        pytest.skip(error.message)
    return Job(
        network=network(2),
        method=MultiRail(),
        program=("sleep", str(seconds)) if seconds else (program, "--class", "S"),
        ranks=2,
        ranks_in=ranks_in,
    )


@pytest.mark.parametrize("ranks_in", RANKS_IN)
def test_an_mpi_program_runs_over_all_links(ranks_in: RanksIn) -> None:
    wanted = over_links(ranks_in)
    with places.here(stream()) as found:
        ran = found.run(wanted, timeout_s=1000.0)
    assert '"verified":true' in ran.stdout.replace(" ", "")
    assert min(ran.link_bytes.values()) > CARRIED
    assert leftovers() == []


def test_a_program_is_named_from_the_folder_of_its_caller_and_runs_there(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\npwd\n", encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "aferir", "aggregate", "run", "-n", "2", "./program"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [str(tmp_path)] * 2, done.stderr


def test_after_a_kill_clean_removes_containers_and_their_groups(state: Path) -> None:
    groups = f"*/aferir-{journal.family(state)}*-host2"
    wanted = over_links("containers", seconds=60)
    verb = ["-m", "aferir", "aggregate", "run", "--ranks-in", "containers"]
    child = subprocess.Popen(
        [sys.executable, *verb, *wanted.program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        eventually(lambda: list(Path("/sys/fs/cgroup").glob(groups)) or child.poll())
        assert child.poll() is None
        child.send_signal(signal.SIGKILL)
    orphans = journal.orphans()
    assert [entry.kind for entry in orphans] == [namespace.KIND]
    assert registry.clean(orphans) == []
    assert leftovers() == []


def test_a_failure_on_the_way_leaves_nothing(here: Place, state: Path) -> None:
    before = namespaces_of(state)
    with pytest.raises(ProgramError):  # a rate of nothing
        here.measure(Task(network=Network(links=1, rate_bits=0), method=Single()))
    assert set(namespaces_of(state)) <= set(before)


def test_after_a_kill_clean_removes_the_network_and_what_runs_inside() -> None:
    stream()
    child = subprocess.Popen(
        [sys.executable, "-c", MEASURING],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "go\n"
        eventually(lambda: list(journal.state_folder().glob("namespaces/*/ready.0")))
        child.send_signal(signal.SIGKILL)
    orphans = journal.orphans()
    assert [entry.kind for entry in orphans] == [namespace.KIND]
    mark = orphans[0].id
    assert list(namespace.FOLDER.glob(f"*{mark}*"))
    for _ in range(2):
        assert registry.clean(orphans) == []
    assert list(namespace.FOLDER.glob(f"*{mark}*")) == []
    assert leftovers() == []


def bonded(found: Place) -> Result:
    slow = Network(links=2, rate_bits=5_000_000)
    traffic = Traffic(seconds=1.0)
    return measure(found, Task(network=slow, method=Bonding(mode="balance-rr"), traffic=traffic))


def test_a_bond_in_a_guest_whose_clock_counts_instructions_carries_over_all_links() -> None:
    usable("vm")
    with place("guest", stream()) as found:
        carried = bonded(found)
    assert carried.verified
    assert carried.links_up == 2
    assert min(carried.link_bytes.values()) > CARRIED
    assert leftovers() == []


def test_two_guests_are_hosts_and_a_cut_cable_is_seen_by_both() -> None:
    """MPTCP outlives a cut link in kernels of this machine, too; bonds are in none of them."""
    usable("vm")
    with place("guests", stream()) as found:
        task = Task(
            network=Network(links=2, rate_bits=2_000_000),
            method=Bonding(mode="active-backup"),
            traffic=Traffic(seconds=4.0),
            events=(Event(2.0, 0),),  # emulated guests take a while to begin
        )
        carried = measure(found, task)
    assert carried.verified
    assert carried.links_up == 2
    # Over the first until it is cut, if the guests have begun by then.
    assert carried.link_bytes["eth1"] > CARRIED
    assert leftovers() == []


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A namespace with two links, as a host in use."""
    paths = os.pathsep.join(sys.path)
    monkeypatch.setenv("PYTHONPATH", paths)
    entry = journal.write(namespace.KIND, {})
    names = [namespace.name_of(entry, end) for end in ("a", "b")]
    try:
        for name in names:
            process.run(["ip", "netns", "add", name])
        for link in ("eth0", "eth1"):
            veth = ["ip", "link", "add", link, "netns", names[0], "type", "veth"]
            process.run([*veth, "peer", "name", link, "netns", names[1]])
            for name, last in zip(names, (1, 2), strict=True):
                address = f"10.0.{link[-1]}.{last}/24"
                process.run(["ip", "-n", name, "address", "add", address, "dev", link])
                process.run(["ip", "-n", name, "link", "set", link, "up"])
        yield names[0]
    finally:
        namespace.give_back(entry)


WISH = Wish(
    method=Multipath(),
    interfaces=("eth0", "eth1"),
    name="both",
    destination="10.1.0.2",
    gateways=("10.0.0.2", "10.0.1.2"),
)


def routes(host: str) -> str:
    return process.run(["ip", "-n", host, "route", "show", "10.1.0.2"]).stdout


def wait_until_gone(host: str) -> None:
    eventually(lambda: not routes(host) and not list(journal.entries())[1:])


def test_what_is_not_confirmed_is_undone(host: str) -> None:
    """The second guard's time is over, the first one's is not; it sees what the other did."""
    guard.apply(WISH, host, confirm_within_s=600.0)
    assert "nexthop" in routes(host)
    assert guard.KIND in {entry.kind for entry in journal.entries()}
    late = ["-m", "aferir", "aggregate", "guard", "both", "--seconds", "0"]
    process.run([sys.executable, *late])
    wait_until_gone(host)
    assert guard.remembered("both") is None


def test_what_is_confirmed_stays_until_it_is_undone(host: str) -> None:
    guard.apply(WISH, host, confirm_within_s=600.0)
    guard.confirm("both")
    eventually(lambda: guard.KIND not in {entry.kind for entry in journal.entries()})
    assert "nexthop" in routes(host)
    assert guard.undo("both") == []
    assert routes(host) == ""


def test_nothing_is_remembered_over_a_reboot(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    guard.apply(WISH, host, confirm_within_s=600.0)
    guard.confirm("both")
    with monkeypatch.context() as other:
        other.setattr(journal, "boot_id", lambda: "another")
        assert guard.remembered("both") is None
    assert guard.undo("both") == []


def test_a_step_that_fails_undoes_those_before(host: str) -> None:
    wish = Wish(
        method=Multipath(),
        interfaces=("eth0", "eth1"),
        name="both",
        destination="10.1.0.2",
        gateways=("10.0.0.2", "192.0.2.1"),  # not on that link
    )
    with pytest.raises(ProgramError):
        guard.apply(wish, host, confirm_within_s=600.0)
    assert guard.remembered("both") is None
    wait_until_gone(host)


def test_clean_undoes_what_a_killed_guard_watched(host: str) -> None:
    guard.apply(WISH, host, confirm_within_s=600.0)
    entry = next(entry for entry in journal.entries() if entry.kind == guard.KIND)
    os.kill(entry.owner_pid, signal.SIGKILL)
    eventually(lambda: not journal.owner_lives(entry))
    assert registry.clean(journal.orphans()) == []
    assert routes(host) == ""
    assert guard.remembered("both") is None
