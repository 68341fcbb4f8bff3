"""Instances of a cloud as a host, with a cloud whose instances are on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir.clouds.base import Phase, Server
from aferir.environments.measured import Asked
from aferir.errors import MissingError, ProgramError, UsageError
from aferir.hosts import instances
from aferir.hosts.instances import CloudEnvironment, CloudHost, CloudInstance
from aferir.hosts.reaching import Reached
from aferir.model.cloud import Wanted
from aferir.model.finding import Finding
from aferir.model.host import HostSpec, Price
from aferir.model.plan import EnvironmentSpec

pytestmark = pytest.mark.integration
SPEC = EnvironmentSpec(name="n", kind="native", cpus=1, memory_bytes=2**28)


class Cloud:
    """A cloud whose instances' addresses are numbers, and which knows the existing ones."""

    provider = "here"

    def __init__(self) -> None:
        self.there: list[str] = []
        self.deleted: list[str] = []
        self.refuses = False

    def check(self) -> list[Finding]:
        return [Finding("here", "ok", "answers")]

    def create(self) -> Server:
        name = f"i{len(self.there) + len(self.deleted)}"
        self.there.append(name)
        copied = Phase(name="TcI", seconds=0.25, source="told", resolution_s=0.0)
        booted = Phase(name="TiI", seconds=0.5, source="told", resolution_s=0.0)
        return Server(name=name, address=name, url="", phases=(copied, booted), total_s=0.0)

    def delete(self, name: str) -> float:
        if self.refuses:
            raise ProgramError("the cloud does not answer")
        if name in self.there:
            self.there.remove(name)
            self.deleted.append(name)
        return 7.0

    def delete_all(self) -> None:
        for name in tuple(self.there):
            self.delete(name)

    def sent_bytes(self) -> int:
        return 0


def host_of(cloud: Cloud, *reach: str, price: Price | None = None) -> CloudHost:
    spec = HostSpec(name="c", reach=reach, cloud=Wanted(provider="openstack"), price_per_hour=price)
    return CloudHost(spec, cloud=cloud, login_s=0.0)


@pytest.fixture
def reach(tmp_path: Path) -> tuple[str, ...]:
    return ("env", f"AFERIR_STATE={tmp_path / 'state'}", "INSTANCE={address}")


def test_each_environment_has_an_instance_of_its_own(reach: tuple[str, ...]) -> None:
    cloud = Cloud()
    host = host_of(cloud, *reach, price=Price(36.0, "EUR"))
    first, second = (host.environment("native").allocate(SPEC) for _ in range(2))
    assert cloud.there == ["i0", "i1"]
    assert first.run(["sh", "-c", "echo $INSTANCE"]).stdout == "i0\n"
    assert second.run(["sh", "-c", "echo $INSTANCE"]).stdout == "i1\n"
    assert (first.phases.copied_s, first.phases.booted_s) == (0.25, 0.5)
    assert first.phases.placed_s is None
    assert first.phases.ready_s == first.phases.total_s
    measured = first.measure(Asked(line=("sleep", "0.01"), timeout_s=1000.0))
    assert measured.done is not None
    (paid,) = (one for one in measured.observed if one.metric == "cost_eur")
    assert paid.value == pytest.approx(measured.done.duration_s / 100)
    assert first.release() >= 7.0
    assert first.release() == 0.0
    assert (cloud.there, cloud.deleted) == (["i1"], ["i0"])
    assert host.close() == []
    assert cloud.there == []


def test_an_instance_that_lets_nobody_in_is_released() -> None:
    cloud = Cloud()
    with pytest.raises(MissingError, match="host c cannot be used"):
        host_of(cloud, "false").environment("native").allocate(SPEC)
    assert (cloud.there, cloud.deleted) == ([], ["i0"])


def test_what_an_instance_cannot_make_leaves_none(reach: tuple[str, ...]) -> None:
    cloud = Cloud()
    with pytest.raises(MissingError, match="there is no kind"):
        host_of(cloud, *reach).environment("unheard-of").allocate(SPEC)
    assert (cloud.there, cloud.deleted) == ([], ["i0"])


def test_a_description_is_of_an_instance_that_is_released(reach: tuple[str, ...]) -> None:
    cloud = Cloud()
    assert host_of(cloud, *reach).describe().limits.cpus
    assert (cloud.there, cloud.deleted) == ([], ["i0"])


def test_instances_that_a_cloud_keeps_are_named(reach: tuple[str, ...]) -> None:
    cloud = Cloud()
    host = host_of(cloud, *reach)
    instance = host.environment("native").allocate(SPEC)
    assert isinstance(instance, CloudInstance)
    cloud.refuses = True
    with pytest.raises(ProgramError, match="does not answer"):
        instance.release()
    (said,) = host.close()
    assert "`aferir clean` releases its instances" in said


def test_keys_of_instances_are_not_known_beforehand() -> None:
    spec = HostSpec(name="c", reach=("ssh", "root@{address}"), cloud=Wanted(provider="ec2"))
    first, *options, last = instances.at(spec, "10.0.0.7").reach
    assert (first, last) == ("ssh", "root@10.0.0.7")
    assert "StrictHostKeyChecking=no" in options
    assert CloudEnvironment(host_of(Cloud(), "true"), "native").check()[0].status == "ok"


def test_an_instance_is_no_part_of_several_hosts() -> None:
    found = Reached({"c": host_of(Cloud(), "true")}, {})
    with pytest.raises(UsageError, match="no part of several hosts"):
        found.lasting("c")
