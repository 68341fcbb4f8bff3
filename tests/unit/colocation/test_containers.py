"""Control groups of containers and pods, recognised by the paths that engines use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation import containers
from aferir.colocation.service import parse_spec
from aferir.errors import UsageError

_ID = "0123456789abcdef" * 4
_UID = "d2dc3b5e-3e43-4a5e-9d5b-4d9d1b8f5f11"
_WRITTEN = _UID.replace("-", "_")


@pytest.mark.parametrize(
    "path",
    [
        f"system.slice/docker-{_ID}.scope",
        f"docker/{_ID}",
        f"machine.slice/libpod-{_ID}.scope",
        f"libpod_parent/libpod-{_ID}",
        f"kubepods.slice/kubepods-pod1.slice/cri-containerd-{_ID}.scope",
        f"kubepods.slice/kubepods-pod1.slice/crio-{_ID}.scope",
    ],
)
def test_engines_name_groups_after_the_identifier(path: str) -> None:
    assert containers.is_of(path, "web", frozenset({_ID}))
    assert containers.is_of(path, _ID[:12], frozenset())
    assert not containers.is_of(path, "web", frozenset())
    assert not containers.is_of(path, _ID[:6], frozenset())
    assert not containers.is_of(f"{path}/init", "web", frozenset({_ID}))


@pytest.mark.parametrize("path", ["lxc.payload.web", "lxc/web", "a.slice/lxc.payload.web"])
def test_lxc_names_groups_after_the_container(path: str) -> None:
    assert containers.is_of(path, "web", frozenset())
    assert not containers.is_of(path, "eb", frozenset())
    assert not containers.is_of("lxc.monitor.web", "web", frozenset())


@pytest.mark.parametrize(
    "path",
    [
        f"kubepods.slice/kubepods-burstable-pod{_WRITTEN}.slice",
        f"kubepods.slice/kubepods-pod{_WRITTEN}.slice",
        f"kubepods/besteffort/pod{_UID}",
    ],
)
def test_a_pods_group_is_named_after_its_uid(path: str) -> None:
    assert containers.is_pod(path, _UID)
    assert not containers.is_pod(path, _UID[:-1])


def test_the_outermost_groups_are_found(tmp_path: Path) -> None:
    pod = tmp_path / f"kubepods/pod{_UID}"
    (pod / _ID).mkdir(parents=True)
    (tmp_path / "lxc.payload.web" / "lxc" / "web").mkdir(parents=True)
    assert list(containers.groups(tmp_path, "pod", _UID)) == [pod]
    assert list(containers.groups(tmp_path, "container", "web")) == [tmp_path / "lxc.payload.web"]


def test_services_may_be_containers_and_pods() -> None:
    assert str(parse_spec("container:web")) == "container:web"
    assert parse_spec(f"pod:{_UID}").may_restart
    with pytest.raises(UsageError, match="not a service"):
        parse_spec("container:")


def test_a_name_is_no_option_of_an_engine() -> None:
    assert containers.identifiers("--help") == frozenset()


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_path_is_that_of_a_container_or_pod_or_not(path: str, name: str) -> None:
    assert containers.is_of(path, name, frozenset()) in (True, False)
    assert not containers.is_of(path, _ID, frozenset()) or _ID in path
    assert not containers.is_pod(path, _UID) or "pod" in path
