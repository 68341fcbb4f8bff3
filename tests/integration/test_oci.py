"""Containers by Podman: what they have in common with other kinds, and each of their own keys."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest

from aferir.environments.base import Environment, Instance
from aferir.environments.oci.spec import OciSpec
from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process
from aferir.machine import packages
from aferir.model.plan import PROGRAM_FOLDER
from tests.integration.contract import Contract, kill_at_random_moments
from tests.integration.support import allocated, leftovers, own_state, usable
from tests.waiting import eventually

pytestmark = pytest.mark.integration


def containers() -> list[str]:
    """Root folders of those that the engine knows and whose state folder is this test's."""
    known = subprocess.run(["podman", "ps", "--all", "--quiet"], capture_output=True, check=True)
    roots = ["podman", "inspect", "--format={{.Rootfs}}"]
    found = [
        # One of others may have gone meanwhile.
        subprocess.run([*roots, number], capture_output=True, check=False, text=True).stdout.strip()
        for number in known.stdout.decode().split()
    ]
    return [root for root in found if root.startswith(f"{journal.state_folder()}/")]


def networks_of_nobody() -> list[Path]:
    """Network namespaces that the engine has named and that no process is in any more."""
    used = set()
    for namespace in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            used.add(namespace.stat().st_ino)
    left = []
    for path in Path("/run/netns").glob("netns-*"):
        with contextlib.suppress(OSError):
            if path.stat().st_ino not in used:
                left.append(path)
    return left


class TestRunc(Contract):
    kind = "oci"
    longest_start_s = 0.8

    def check_nothing_left(self) -> None:
        assert containers() == []

    def test_its_system_calls_are_filtered_and_it_is_alone_with_loopback(
        self, instance: Instance
    ) -> None:
        assert "Seccomp:\t2" in instance.run(["cat", "/proc/self/status"]).stdout
        links = instance.run(["ip", "-o", "link"]).stdout.splitlines()
        assert [line.split(":")[1].strip() for line in links] == ["lo"]


class TestGvisor(Contract):
    kind = "oci"
    keys: ClassVar[Mapping[str, Any]] = {"runtime": "runsc"}
    longest_start_s = 1.5
    own_kernel = True

    @pytest.fixture
    def environment(self) -> Environment:
        if packages.missing(["runsc"]):
            pytest.skip("runsc is not installed")
        return usable(self.kind)

    def check_nothing_left(self) -> None:
        assert containers() == []

    def test_its_kernel_is_not_the_hosts(self, instance: Instance) -> None:
        assert "gVisor" in instance.run(["dmesg"]).stdout

    def test_it_is_paused_whatever_its_programs_begin_meanwhile(self, instance: Instance) -> None:
        """Its kernel traces them, and one may come to a stop just when all are to freeze."""
        begin = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"
        with ThreadPoolExecutor(1) as thread:
            program = thread.submit(instance.run, ["sh", "-c", begin])
            while not program.done():
                try:
                    instance.pause()
                finally:
                    instance.resume()
        program.result()


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.fixture
def engine() -> Environment:
    return usable("oci")


def container(**keys: object) -> OciSpec:
    values = {"name": "c", "kind": "oci", "cpus": 1, "memory_bytes": 2**28}
    return OciSpec(**(values | keys))  # type: ignore[arg-type]


def said_with(engine: Environment, script: str, **keys: object) -> str:
    """Output of a shell in a container with these keys."""
    found = ""
    for instance in allocated(engine, container(**keys)):
        found = instance.run(["sh", "-c", script]).stdout
    assert containers() == []
    return found


def test_isolation_can_be_taken_away_piece_by_piece(engine: Environment) -> None:
    network = "readlink /proc/self/ns/net"
    status = f"grep -E '^(Seccomp|CapEff):' /proc/self/status; wc -l < /proc/net/dev; {network}"
    default = said_with(engine, status).split()
    free = said_with(
        engine, status, seccomp="unconfined", capabilities="all", network="host"
    ).split()
    assert (default[3], free[3]) == ("2", "0")
    assert int(free[1], 16) > int(default[1], 16) > 0
    assert int(default[4]) == 3
    assert default[5] != free[5] == str(Path("/proc/self/ns/net").readlink())


def test_capabilities_are_those_that_are_named(engine: Environment) -> None:
    status = "grep -E '^CapEff:' /proc/self/status"
    assert int(said_with(engine, status, capabilities="none").split()[1], 16) == 0
    named = said_with(engine, status, capabilities="NET_ADMIN, SYS_NICE").split()[1]
    assert int(named, 16) == 1 << 12 | 1 << 23  # <linux/capability.h>


def test_a_user_namespace_is_another_one(engine: Environment) -> None:
    own = said_with(engine, "readlink /proc/self/ns/user", user_namespace=True).strip()
    assert own != str(Path("/proc/self/ns/user").readlink())
    assert said_with(engine, "readlink /proc/self/ns/user").strip() != own


def test_folders_are_where_they_are_asked_for(engine: Environment) -> None:
    kinds = "for f in / /data /vol; do stat -f -c %T $f; done; touch /x || echo read-only"
    keys = {"read_only": True, "tmpfs": "/data", "volume": "/vol", "shm_bytes": 2**20}
    said = said_with(engine, f"{kinds}; touch /data/x /vol/x; df -k /dev/shm", **keys).split("\n")
    assert said[0] == "overlayfs"
    assert said[1] == "tmpfs"
    state = ["stat", "-f", "-c", "%T", str(journal.state_folder())]
    assert said[2] == process.run(state).stdout.strip()
    assert said[3] == "read-only"
    assert said[5].split()[1] == "1024"


def test_programs_can_be_put_into_one_that_is_read_only(
    engine: Environment, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho here\n", encoding="ascii")
    script.chmod(0o755)
    for instance in allocated(engine, container(read_only=True)):
        instance.put(script, PROGRAM_FOLDER / "script")
        assert instance.run([str(PROGRAM_FOLDER / "script")]).stdout == "here\n"


def test_a_bridge_gives_it_an_interface(engine: Environment) -> None:
    assert "eth0" in said_with(engine, "ip -o link", network="bridge")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"runtime": "no-such-runtime"}, "OCI runtime `no-such-runtime`: it is not here"),
        ({"image": "localhost/no/such:image"}, "`localhost/no/such:image` .* cannot be pulled"),
    ],
)
def test_what_is_not_there_is_told_with_a_remedy(
    engine: Environment, keys: dict[str, object], said: str
) -> None:
    with pytest.raises(MissingError, match=said) as caught:
        engine.allocate(container(**keys))
    assert caught.value.remedy
    assert leftovers() == []
    assert containers() == []


@pytest.mark.parametrize(
    "keys", [{"network": "no-such-network"}, {"seccomp": "/no/such/profile"}, {"capabilities": "X"}]
)
def test_what_the_engine_refuses_is_told_in_its_words(
    engine: Environment, keys: dict[str, object]
) -> None:
    with pytest.raises(ProgramError, match=r"did not start by oci: .*(no-such|X|/no/such)"):
        engine.allocate(container(**keys))
    assert leftovers() == []
    assert containers() == []


def test_a_kill_leaves_no_network(engine: Environment) -> None:
    assert engine.kind == "oci"
    before = networks_of_nobody()
    kill_at_random_moments("oci", {"network": "bridge"}, 1.5, kills=4)
    assert containers() == []
    # Those of others come and go.
    eventually(lambda: set(networks_of_nobody()) <= set(before))
