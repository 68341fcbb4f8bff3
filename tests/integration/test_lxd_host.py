"""An experiment with environments side by side on this host and in instances of a real LXD."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir.clouds import lxd, lxd_api
from aferir.clouds.base import Template
from aferir.cluster import manager
from aferir.image import userland
from aferir.linux import namespace, process
from aferir.store import open_run
from tests.integration import lxd_server
from tests.integration.cluster_support import SLURM
from tests.integration.support import leftovers, own_state

pytestmark = pytest.mark.integration
_SSHD = "mkdir -p /run/sshd; ssh-keygen -A; /usr/sbin/sshd"
EXPERIMENT = """
[experiment]
name = "clouds"
baseline = "here"
warmup = 0
[stop]
repetitions = 2
[[host]]
name = "lxd"
cloud = "{folder}/lxd.toml"
reach = "ssh -i {folder}/key root@{{address}}"
price_per_hour = "0.04 EUR"
[[environment]]
name = "here"
kind = "native"
cpus = 1
[[environment]]
name = "instance"
kind = "native"
host = "lxd"
cpus = 1
[[workload]]
name = "EP"
program = "npb"
kernel = "ep"
class = "S"
"""


@pytest.fixture
def cloud(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[lxd.Place, str, Path]]:
    """A server, its namespace, and a folder with a file that names it and a key to its image."""
    wanted = manager.packages(SLURM)  # has sshd and Python
    for finding in (*lxd_server.check(), *userland.check(wanted)):
        if finding.status == "missing":
            pytest.skip(f"{finding.message}; {finding.remedy}")
    own_state(tmp_path_factory, monkeypatch)
    base, folder = userland.ensure(extra=wanted), tmp_path_factory.mktemp("cloud")
    process.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")])
    (folder / "key.pub").chmod(0o600)
    files = {"/root/.ssh/authorized_keys": folder / "key.pub"}
    with lxd_server.lxd_server() as (place, inside):
        image = lxd.add_image(
            place.socket, base.tree, Template(files=files, start=_SSHD, probe="", port=22)
        )
        disk = {"root": {"type": "disk", "path": "/", "pool": place.pool}}
        lxd_api.ask(place.socket, "PUT", "/1.0/profiles/default", {"devices": disk})
        (folder / "lxd.toml").write_text(
            f'provider = "lxd"\nimage = "{image}"\nnetwork = "{place.bridge}"\n', encoding="utf-8"
        )
        yield place, inside, folder
    assert leftovers() == []


def test_programs_run_in_instances_beside_bare_metal(
    cloud: tuple[lxd.Place, str, Path], tmp_path: Path
) -> None:
    place, inside, folder = cloud
    file = tmp_path / "clouds.toml"
    file.write_text(EXPERIMENT.format(folder=folder), encoding="utf-8")
    done = subprocess.run(
        [
            *("nsenter", f"--net={namespace.FOLDER / inside}", sys.executable, "-m", "aferir"),
            *("run", str(file), "--runs", str(tmp_path / "runs")),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LXD_DIR": str(place.socket.parent)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert lxd.tagged(place.socket) == []
    (made,) = (tmp_path / "runs").iterdir()
    run = open_run(made)
    ended = {
        (one.environment, one.workload): {sample.metric for sample in one.samples}
        for one in run.records
        if one.failure is None
    }
    assert {"copied_s", "booted_s", "ready_s", "release_s"} <= ended["instance", "allocation"]
    assert {"duration_s", "cost_eur", "cost_per_unit_eur"} <= ended["instance", "EP"]
    assert "cost_eur" not in ended["here", "EP"]
    assert [one.failure for one in run.records if one.failure is not None] == []
