"""Configurations of containers and limits of native environments, as pure functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.environments import apptainer, console, native
from aferir.environments.limited import LayeredSpec
from aferir.environments.lxc import config_file
from aferir.environments.tool import Place
from aferir.errors import MissingError
from aferir.linux import affinity, cgroup, journal
from aferir.model.plan import EnvironmentSpec

V1 = cgroup.Layout(
    v1={name: Path("/sys/fs/cgroup") / name for name in ("cpu", "cpuset", "memory")},
    v2=Path("/sys/fs/cgroup/unified"),
)
V2 = cgroup.Layout(v2=Path("/sys/fs/cgroup"), v2_controllers=("cpuset", "cpu", "memory"))
MOUNTS = r"""/dev/vda / ext4 rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/odd\040name cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
torn line
"""


def spec(**changes: object) -> EnvironmentSpec:
    values = {"name": "c", "kind": "container", "cpus": 2, "memory_bytes": 2**28, **changes}
    return EnvironmentSpec(**values)  # type: ignore[arg-type]


def config(have: cgroup.Layout, **changes: object) -> dict[str, str]:
    text = config_file.config(
        spec(**changes),
        name="aferir-1",
        tree=Path("/images/tree"),
        upper=Path("/state/a:b/upper"),
        cpus=(0, 1),
        have=have,
    )
    return dict(line.split(" = ", 1) for line in text.splitlines())


def test_hierarchies_are_found_among_the_mounts() -> None:
    v1, v2 = cgroup.parse_mounts(MOUNTS)
    assert v1["cpu"] == v1["cpuacct"] == Path("/sys/fs/cgroup/cpu,cpuacct")
    assert v1["memory"] == Path("/sys/fs/cgroup/odd name")
    assert v2 == Path("/sys/fs/cgroup/unified")


@given(st.text())
def test_no_text_breaks_the_parser_of_mounts(text: str) -> None:
    cgroup.parse_mounts(text)


def test_limits_by_the_names_of_version_1() -> None:
    found = config(V1, cpu_quota=0.25)
    assert found["lxc.cgroup.cpu.cfs_quota_us"] == "5000"
    assert found["lxc.cgroup.cpu.cfs_period_us"] == "10000"
    assert found["lxc.cgroup.memory.limit_in_bytes"] == str(2**28)
    assert found["lxc.cgroup.cpuset.cpus"] == "0,1"
    assert not [key for key in found if key.startswith("lxc.cgroup2")]


def test_limits_by_the_names_of_version_2() -> None:
    found = config(V2, cpu_quota=0.25)
    assert found["lxc.cgroup2.cpu.max"] == "5000 10000"
    assert found["lxc.cgroup2.memory.max"] == str(2**28)
    assert found["lxc.cgroup2.memory.swap.max"] == "0"
    assert found["lxc.cgroup2.cpuset.cpus"] == "0,1"


def test_no_quota_where_none_is_asked_for() -> None:
    assert not [key for key in config(V1) if ".cpu.cfs" in key]
    assert not [key for key in config(V2) if ".cpu.max" in key]


def test_a_colon_in_a_path_does_not_split_the_overlay() -> None:
    assert config(V1)["lxc.rootfs.path"] == "overlay:/images/tree:/state/a\\:b/upper"


def test_a_container_has_no_network_and_known_groups() -> None:
    found = config(V1)
    assert found["lxc.net.0.type"] == "empty"
    assert found["lxc.cgroup.dir.container"] == "aferir-1"
    assert found["lxc.cgroup.dir.monitor"] == "aferir-1-monitor"


def test_apptainer_mounts_the_volume_and_the_disk_itself() -> None:
    """A root in which they are mounted cannot be bound in its user namespace."""
    entry = journal.Entry(
        id="1",
        kind="apptainer",
        owner_pid=1,
        owner_started=1,
        boot_id="",
        details={"instances": "/state,1/apptainer"},
    )
    place = Place(
        entry=entry,
        spec=LayeredSpec(name="c", kind="apptainer", cpus=1, memory_bytes=2**28, volume="/data"),
        root=Path("/state,1/apptainer/aferir-1/root"),
        cpus=(0,),
        program=Path("/aferir-inside"),
        disk=Path("/state,1/disk"),
    )
    said = apptainer.command(place)
    assert [word for word in said if word.startswith("--mount=")] == [
        '--mount="source=/state,1/apptainer/aferir-1/volume","destination=/data"',
        '--mount="source=/state,1/disk","destination=/srv/aferir"',
    ]
    assert said[said.index(str(place.root)) + 1] == "/.aferir-inside"


def test_a_controller_that_is_nowhere_is_missing() -> None:
    with pytest.raises(MissingError) as caught:
        cgroup.settings(cgroup.Limits(cpus=1.0), cgroup.Layout())
    assert "mount -t cgroup" in caught.value.remedy


@pytest.mark.parametrize(("nice", "shares"), [(-20, 88761), (0, 1024), (5, 335), (19, 15)])
def test_a_group_weighs_as_much_as_a_process_of_its_nice_value(nice: int, shares: int) -> None:
    """The kernel's table, which the power is close to."""
    [(root, file, value)] = cgroup.settings(cgroup.Limits(nice=nice), V1)
    assert (root, file) == (V1.v1["cpu"], "cpu.shares")
    assert int(value) == pytest.approx(shares, rel=0.01, abs=1)
    have = cgroup.Layout(v2=Path("/cg"), v2_controllers=("cpu",))
    assert cgroup.settings(cgroup.Limits(nice=nice), have) == [
        (Path("/cg"), "cpu.weight.nice", str(nice))
    ]
    assert cgroup.settings(cgroup.Limits(nice=nice), cgroup.Layout()) == []


@given(st.floats(1e-6, 512))
def test_a_quota_is_never_below_what_the_kernel_takes(cpus: float) -> None:
    quota, period = cgroup.bandwidth_us(cpus)
    assert quota >= 1_000
    assert 10_000 <= period <= 1_000_000
    if cpus >= 0.001:
        assert quota / period == pytest.approx(cpus, rel=1e-3)
    if cpus >= 0.005:
        assert quota >= 4_999


@given(
    st.sets(st.integers(0, 15), min_size=1),
    st.lists(st.integers(0, 15), unique=True, max_size=16),
    st.integers(1, 16),
)
def test_an_instance_gets_just_its_cpus_or_an_error(
    host: set[int], pin: list[int], cpus: int
) -> None:
    wanted = spec(cpus=cpus, pin=tuple(pin))
    try:
        chosen = affinity.cpu_set(wanted, sorted(host))
    except MissingError:
        assert not set(pin) <= host or cpus > len(pin or host)
    else:
        assert len(set(chosen)) == cpus
        assert set(chosen) <= host
        assert not pin or set(chosen) <= set(pin)


def test_the_host_is_limited_only_where_asked_and_permitted() -> None:
    host = 2**34
    ours = os.nice(0)
    unlimited = native.limits_of(spec(memory_bytes=host), host, may_limit=True)
    assert unlimited == cgroup.Limits(nice=ours)
    limited = native.limits_of(spec(cpu_quota=0.5), host, may_limit=True)
    assert limited == cgroup.Limits(cpus=1.0, memory_bytes=2**28, nice=ours)
    assert native.limits_of(spec(), host, may_limit=False) == cgroup.Limits()
    with pytest.raises(MissingError):
        native.limits_of(spec(cpu_quota=0.5), host, may_limit=False)


def test_the_reason_why_a_container_did_not_start_is_lxcs_first_error() -> None:
    log = (
        "lxc-start a 20261121041624.737 WARN     start - ../src/lxc/start.c:one:1 - odd\n"
        "lxc-start a 20261121041624.738 ERROR    conf - ../src/lxc/conf.c:pivot:9 - Invalid"
        " argument - Failed to pivot_root()\n"
        "lxc-start a 20261121041624.739 ERROR    start - ../src/lxc/start.c:two:2 - No container\n"
    )
    assert config_file.reason(log) == "Invalid argument - Failed to pivot_root()"
    assert config_file.reason("something else\n") == "something else"
    assert config_file.reason("") == ""


def test_what_keeps_a_group_from_dying_is_lifted(tmp_path: Path) -> None:
    below = tmp_path / "made/inside"
    below.mkdir(parents=True)
    for file in ("freezer.state", "cpu.idle", "cpu.cfs_quota_us"):
        (tmp_path / file).touch()
        (below / file).touch()
    cgroup.let_die(tmp_path)
    for group in (tmp_path, below):
        assert {path.name: path.read_text() for path in group.iterdir() if path.is_file()} == {
            "freezer.state": "THAWED",
            "cpu.idle": "0",
            "cpu.cfs_quota_us": "-1",
        }


def test_what_a_guest_says_while_it_does_not_boot_is_text_alone() -> None:
    said = (
        "\x1bc\x1b[?7l\x1b[2J\x1b[0mSeaBIOS (version 1)\r\nBooting from ROM...\r\n\x1bc\x1b[?7l\r\n"
    )
    assert console.readable(said) == ["SeaBIOS (version 1)", "Booting from ROM..."]


def test_a_kernel_that_stops_is_quoted_with_its_reason_and_not_with_the_end_of_its_trace() -> None:
    reason = "[0.05] Kernel panic - not syncing: IO-APIC + timer doesn't work!"
    trace = ["[0.05] Call Trace:", "[0.05]  <TASK>", "[0.05]  start_kernel", "[0.05]  </TASK>"]
    assert console.telling(["aferir:booted", reason, *trace]) == [reason]
    assert console.telling(trace) == trace[1:]


def test_groups_are_not_made_where_hierarchies_are_read_only(tmp_path: Path) -> None:
    assert not cgroup.may_be_made(cgroup.Layout())
    assert not cgroup.may_be_made(cgroup.Layout({"memory": tmp_path / "absent"}))
    assert cgroup.may_be_made(cgroup.Layout({"memory": tmp_path})) == (os.geteuid() == 0)


def test_a_container_has_a_network_of_its_own_or_the_hosts() -> None:
    text = {
        own: config_file.config(
            spec(),
            name="aferir-1",
            tree=Path("/images/tree"),
            upper=Path("/state/upper"),
            cpus=(0,),
            have=V1,
            own_network=own,
        )
        for own in (True, False)
    }
    assert "lxc.net.0.type = empty\n" in text[True]
    assert "lxc.net.0.type = none\n" in text[False]
