"""Containers by a Docker daemon of the test's own, with its own socket and images."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from aferir.environments.base import Environment
from aferir.environments.oci import docker
from aferir.environments.oci.spec import OciSpec
from aferir.errors import MissingError
from aferir.machine import packages
from tests.integration.contract import Contract
from tests.integration.support import leftovers, own_state, usable
from tests.waiting import eventually

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if absent := packages.missing(["dockerd", "containerd", "docker"]):
        pytest.skip(f"{', '.join(absent)} not installed; {packages.install_command(['docker'])}")
    folder = tmp_path_factory.mktemp("docker")
    host = f"unix://{folder}/socket"
    command = [
        *("dockerd", "--host", host, "--data-root", f"{folder}/data", "--exec-root"),
        *(f"{folder}/run", "--pidfile", f"{folder}/pid", "--iptables=false", "--bridge=none"),
    ]
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("w") as log:
        patch.setenv("DOCKER_HOST", host)
        with subprocess.Popen(command, stdout=log, stderr=log) as child:
            try:
                eventually(lambda: child.poll() is not None or docker.check().status == "ok")
                if child.poll() is not None:
                    pytest.skip(
                        f"no Docker daemon runs here: {(folder / 'log').read_text()[-300:]}"
                    )
                yield
            finally:
                child.terminate()


class TestDocker(Contract):
    kind = "oci"
    keys: ClassVar[Mapping[str, Any]] = {"engine": "docker"}
    longest_start_s = 1.5
    entries = ("oci", "scratch")
    """Kinds of journal entries of a container, and of a userland that is being imported."""

    def check_nothing_left(self) -> None:
        words = ["docker", "ps", "--all", "--quiet"]
        assert subprocess.run(words, capture_output=True, check=True, text=True).stdout == ""


def container(**keys: object) -> OciSpec:
    values = {"name": "c", "engine": "docker", "cpus": 1, "memory_bytes": 2**28}
    return OciSpec(**(values | keys))  # type: ignore[arg-type]


@pytest.fixture
def engine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Environment:
    own_state(tmp_path_factory, monkeypatch)
    return usable("oci")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"image": "localhost/no/such:image"}, "`localhost/no/such:image` .* cannot be pulled"),
        ({"user_namespace": True}, "that its daemon has"),
        ({"huge_pages": False}, "that its daemon has"),
    ],
)
def test_what_it_cannot_do_is_told_with_a_remedy(
    engine: Environment, keys: dict[str, object], said: str
) -> None:
    with pytest.raises(MissingError, match=said) as caught:
        engine.allocate(container(**keys))
    assert caught.value.remedy
    assert leftovers() == []


def test_no_daemon_is_told_with_a_remedy(
    engine: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(MissingError, match="no Docker daemon answers"):
        engine.allocate(container())
    assert leftovers() == []
