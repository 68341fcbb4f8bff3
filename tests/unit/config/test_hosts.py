"""`[[host]]` tables, and environments that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aferir import config, registry
from aferir.errors import UsageError
from aferir.model.cloud import Wanted
from aferir.model.host import HostSpec, Price
from aferir.model.plan import HostLimits, Plan

SMALL = HostLimits(cpus=(0,), memory_bytes=2**30)
LARGE = HostLimits(cpus=tuple(range(64)), memory_bytes=2**38)
HOSTS = """
[[host]]
name = "node1"
reach = "ssh -p 2222 me@node1"
sudo = true
[[host]]
name = "node2"
reach = ["podman", "exec", "-i", "two words"]
"""
EXPERIMENT = (
    HOSTS
    + """
[experiment]
name = "x"
[[environment]]
name = "native"
kind = "native"
[[environment]]
name = "there"
kind = "container"
host = "node1"
cpus = 32
memory = "16 GiB"
[[workload]]
name = "ep"
program = "npb"
kernel = "ep"
class = "S"
"""
)


def plan_of(text: str, **others: HostLimits) -> Plan:
    here = HostLimits(cpus=SMALL.cpus, memory_bytes=SMALL.memory_bytes, others=others)
    return config.parse(text.encode(), here, registry.all_programs(), registry.kinds())


def test_a_host_is_a_name_and_a_command() -> None:
    assert config.hosts_of(HOSTS.encode(), source="hosts.toml") == (
        HostSpec(name="node1", reach=("ssh", "-p", "2222", "me@node1"), sudo=True),
        HostSpec(name="node2", reach=("podman", "exec", "-i", "two words")),
    )


def test_an_environment_may_have_what_its_own_host_has() -> None:
    plan = plan_of(EXPERIMENT, node1=LARGE)
    here, there = plan.environments
    assert (here.host, here.cpus, here.place) == ("", 1, "native")
    assert (there.host, there.cpus, there.place) == ("node1", 32, "container@node1")
    assert [host.name for host in plan.hosts] == ["node1"]


def test_more_than_its_host_has_is_refused() -> None:
    with pytest.raises(UsageError, match=r"environment\[2\].cpus: asks for 32 CPUs"):
        plan_of(EXPERIMENT, node1=SMALL)


def test_a_host_that_was_not_asked_refuses_nothing() -> None:
    assert plan_of(EXPERIMENT).environments[1].cpus == 32


def test_the_host_is_a_factor_too() -> None:
    text = EXPERIMENT.replace('host = "node1"\n', "")
    text += '[factors]\n"environment.host" = ["node1", "node2"]\n'
    plan = plan_of(text, node1=LARGE, node2=LARGE)
    assert {spec.host for spec in plan.environments} == {"node1", "node2"}
    assert "there[host=node2]" in {spec.name for spec in plan.environments}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('host = "node1"', 'host = "nod1"', "did you mean `node1`"),
        ('name = "node2"', 'name = "node1"', "is there twice"),
        ('reach = "ssh -p 2222 me@node1"', "reach = 'ssh \"x'", "quot|quotation"),
        ('reach = "ssh -p 2222 me@node1"', "", "reach"),
        ('reach = "ssh -p 2222 me@node1"', "reach = ''", "reach"),
        ("sudo = true", "sudo = 1", "sudo"),
        ("sudo = true", "password = 'x'", "is not a key"),
    ],
)
def test_what_is_wrong_with_a_host_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(EXPERIMENT.replace(old, new), node1=LARGE, node2=LARGE)


def test_what_may_be_used_of_a_host_is_what_is_checked() -> None:
    capped = EXPERIMENT.replace("sudo = true\n", 'sudo = true\ncpus = 16\nmemory = "8 GiB"\n', 1)
    with pytest.raises(UsageError) as error:
        plan_of(capped, node1=LARGE)
    assert "16" in error.value.message
    assert "memory" in error.value.message


def test_hosts_of_a_file_of_their_own_are_added() -> None:
    without = EXPERIMENT.removeprefix(HOSTS).encode()
    plan = plan_of(config.with_hosts(without, HOSTS.encode(), source="h").decode(), node1=LARGE)
    assert [host.name for host in plan.hosts] == ["node1"]
    with pytest.raises(UsageError, match="environment besides its hosts"):
        config.with_hosts(without, EXPERIMENT.encode(), source="h")


def test_a_native_environment_may_be_over_several_hosts() -> None:
    """Its CPUs and memory are of each, as of the nodes of a cluster."""
    both = EXPERIMENT.replace(
        'kind = "container"\nhost = "node1"', 'kind = "native"\nhost = "node1,node2"'
    )
    plan = plan_of(both, node1=LARGE, node2=LARGE)
    assert plan.environments[1].machines() == 2
    assert [host.name for host in plan.hosts] == ["node1", "node2"]
    listed = plan_of(both.replace('"node1,node2"', '["node1", "node2"]'), node1=LARGE, node2=LARGE)
    assert listed == plan
    with pytest.raises(UsageError, match="names a host twice"):
        plan_of(both.replace("node1,node2", "node1,node1"), node1=LARGE, node2=LARGE)
    with pytest.raises(UsageError, match="32"):
        plan_of(both, node1=LARGE, node2=SMALL)
    with pytest.raises(UsageError, match="node3"):
        plan_of(both.replace("node1,node2", "node1,node3"), node1=LARGE, node2=LARGE)


RANKS = EXPERIMENT.replace('host = "node1"', 'host = "node1,node2"').replace(
    'program = "npb"', 'program = "npb-mpi"\nprocesses = 2\nenvironments = ["there"]'
)


@pytest.mark.parametrize(("more", "mpi"), [("", "openmpi-bin"), ('mpi = "mpich"\n', "mpich")])
def test_containers_of_several_hosts_have_the_mpi_and_ssh_in_their_image(
    more: str, mpi: str
) -> None:
    (there,) = plan_of(RANKS + more, node1=LARGE, node2=LARGE).environments
    assert (there.machines(), there.is_spread) == (2, True)
    assert set(there.packages) == {mpi, "openssh-client", "openssh-server"}
    (alone,) = plan_of(RANKS.replace("node1,node2", "node1"), node1=LARGE).environments
    assert (alone.is_spread, alone.packages) == (False, ())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"container"', '"bubblewrap"', "kind bubblewrap is on one host"),
        ("cpus = 32", "tenants = 2", "has one instance on each"),
        ("cpus = 32", 'network = "host"', "have a network of their own"),
        ('"container"', '"oci"\nruntime = "runsc"', "gVisor"),
        ('"container"', '"cluster"\nnodes = 1', "are fewer than its hosts"),
        ('"container"', '"vm"\nnetwork_device = "e1000"', "an interface for those hosts"),
    ],
)
def test_what_instances_of_several_hosts_cannot_be_is_refused(
    old: str, new: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(RANKS.replace(old, new), node1=LARGE, node2=LARGE)


CLOUD = """
[[host]]
name = "nova"
reach = "ssh debian@{address}"
cloud = "FILE"
price_per_hour = "0.04 EUR"
"""


def test_a_host_may_be_an_instance_of_a_cloud(tmp_path: Path) -> None:
    file = tmp_path / "cloud.toml"
    file.write_text('provider = "openstack"\nimage = "debian"\n', encoding="utf-8")
    (host,) = config.hosts_of(CLOUD.replace("FILE", str(file)).encode(), source="x")
    assert host.cloud == Wanted(provider="openstack", image="debian")
    assert host.price_per_hour == Price(0.04, "EUR")
    assert host.reach == ("ssh", "debian@{address}")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("{address}", "node", "{address} and `cloud` belong together"),
        ('cloud = "FILE"\n', "", "{address} and `cloud` belong together"),
        ("FILE", "/nowhere", "does not say which instances"),
        ("0.04 EUR", "4 cents", "is no price of an hour"),
        ("0.04 EUR", "0 EUR", "is no price of an hour"),
        ("0.04 EUR", "nan EUR", "is no price of an hour"),
        ('"0.04 EUR"', "0.04", "price_per_hour"),
    ],
)
def test_what_is_wrong_with_such_a_host_is_said(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "cloud.toml"
    file.write_text('provider = "openstack"\n', encoding="utf-8")
    text = CLOUD.replace(before, after).replace("FILE", str(file))
    with pytest.raises(UsageError) as caught:
        config.hosts_of(text.encode(), source="x")
    assert said in caught.value.message


def test_a_host_sends_no_video(tmp_path: Path) -> None:
    file = tmp_path / "cloud.toml"
    told = 'context = "cloud-init"\nsource = "http://10.0.0.1/video.mp4"\n'
    file.write_text(f'provider = "openstack"\n{told}', encoding="utf-8")
    with pytest.raises(UsageError, match="user_data"):
        config.hosts_of(CLOUD.replace("FILE", str(file)).encode(), source="x")
