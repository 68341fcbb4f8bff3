"""Command lines of Podman from the keys of a container."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from aferir.environments.oci import command_line
from aferir.environments.oci.container import of
from aferir.environments.oci.runtimes import refusal
from aferir.environments.oci.spec import OciSpec
from aferir.errors import ProgramError
from aferir.linux.cgroup import Layout
from aferir.model.plan import EnvironmentSpec


def line(tree: Path | None = None, **keys: object) -> list[str]:
    """Command line of root, or of an ordinary user who has a userland of their own at `tree`."""
    values = {"name": "c", "kind": "oci", "cpus": 1, "memory_bytes": 2**28}
    return command_line.run(
        OciSpec(**(values | keys)),  # type: ignore[arg-type]
        tree=tree,
        rootless=tree is not None,
        name="aferir-1",
        mark="AFERIR_MARK=1",
        limits=(20_000, 10**6),
        program=Path("/host/aferir-inside"),
        inside=PurePosixPath("/.aferir-inside"),
        root=Path("/state/root"),
        files=Path("/state/volume"),
        disk=Path("/state/disk"),
        variables=["A=b"],
    )


def test_the_userland_is_the_root_unless_an_image_is_named() -> None:
    assert line()[-4:] == ["--rootfs", "/state/root", "/.aferir-inside", "A=b"]
    named = line(image="debian:12")
    assert named[-1] == "debian:12"
    assert "--rootfs" not in named
    assert "--volume=/host/aferir-inside:/.aferir-inside:ro" in named
    assert "--volume=/state/disk:/srv/aferir" in named
    assert not [word for word in line() if word.startswith("--volume")]


def test_an_ordinary_user_has_a_layer_of_the_engine_and_no_control_group() -> None:
    said = line(Path("/home/u/tree"), user_namespace=True)
    assert said[-4:] == ["--rootfs", "/home/u/tree:O", "/.aferir-inside", "A=b"]
    assert "--volume=/host/aferir-inside:/.aferir-inside:ro" in said
    assert not [word for word in said if word.startswith(("--cgroup-parent", "--uidmap"))]
    assert "--cgroup-parent=/aferir-1" in line()
    flag = "--runtime-flag=ignore-cgroups"
    assert flag in line(Path("/home/u/tree"), runtime="runsc")
    assert flag not in line(runtime="runsc")


def test_limits_are_what_podman_may_set() -> None:
    assert {"--ulimit=nofile=20000:20000", "--ulimit=nproc=32768:32768"} <= set(line())


def test_what_is_not_said_is_left_to_the_engine() -> None:
    said = " ".join(line())
    for option in ("security-opt", "cap-", "uidmap", "read-only", "tmpfs", "volume", "shm-size"):
        assert option not in said


@pytest.mark.parametrize(
    ("capabilities", "options"),
    [
        ("all", ["--cap-add=ALL"]),
        ("none", ["--cap-drop=ALL"]),
        ("NET_ADMIN, SYS_NICE", ["--cap-drop=ALL", "--cap-add=NET_ADMIN", "--cap-add=SYS_NICE"]),
    ],
)
def test_capabilities(capabilities: str, options: list[str]) -> None:
    assert [word for word in line(capabilities=capabilities) if "--cap" in word] == options


def test_gvisor_is_told_which_network_it_has() -> None:
    assert "--runtime-flag=network=none" in line(runtime="/opt/runsc")
    assert "--runtime-flag=network=host" in line(runtime="runsc", network="host")
    assert not [word for word in line(runtime="runc") if "--runtime-flag" in word]


def test_a_runtime_that_refuses_this_host_is_told_apart() -> None:
    hybrid = Layout({"cpu": Path("/cg/cpu")}, Path("/cg/unified"))
    assert "hybrid" in refusal("/usr/bin/crun", hybrid)
    assert refusal("runc", hybrid) == ""
    assert refusal("crun", Layout({}, Path("/cg"), ("cpu",))) == ""
    assert command_line.has_own_kernel("/usr/bin/runsc")
    assert command_line.has_own_kernel("kata-runtime")
    assert not command_line.has_own_kernel("runc")


def test_any_specification_is_one_with_every_key_as_it_is_by_default() -> None:
    plain = EnvironmentSpec(name="c", kind="oci", cpus=2, memory_bytes=2**28)
    assert of(plain) == OciSpec(name="c", kind="oci", cpus=2, memory_bytes=2**28)


def test_why_an_image_is_not_there_is_said_once() -> None:
    """An engine warns of each try, with the time of day."""
    said = "`podman pull x` exited with 125: Failed, retrying. Error: no such host / Error: refused"
    spec = OciSpec(name="p", cpus=1, memory_bytes=2**28, image="none/such:1")
    error = command_line.not_pulled(spec, "podman pull", ProgramError(said))
    assert error.message == "the image `none/such:1` of environment `p` cannot be pulled: refused"
    assert "podman pull" in error.remedy
