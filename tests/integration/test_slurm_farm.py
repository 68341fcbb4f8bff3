"""The experiment over three hosts on Slurm nodes of a virtual cluster of ours.

The nodes have this machine's root with that of Slurm above it, and control groups of their own, so
that containers run in them as on any host.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aferir.cluster import configuration, manager
from aferir.cluster.description import Description, Node, State
from aferir.errors import MissingError
from aferir.image import userland
from aferir.linux import cgroup, journal, process
from aferir.store import open_run
from tests.integration.cluster_support import SLURM, answer, run
from tests.integration.farm_experiment import EXPERIMENT
from tests.integration.support import built, own_state
from tests.waiting import eventually

pytestmark = pytest.mark.integration
NODES = {"a": "slurm3-1", "b": "slurm3-2", "c": "slurm3-3"}
LENT = """
[slurm]
by = {by}
options = "--time=30"
[[environment]]
name = "all"
kind = "native"
host = "slurm:3"
cpus = 1
[[workload]]
name = "names"
program = "command"
command = ["sh", "-ec", 'for one in ${{AFERIR_HOSTS#* }}; do "$AFERIR_ENTER" $one hostname; done']
environments = ["all"]
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[State]:
    """Three nodes, ready for jobs; those of kinds of environment that need an image find it."""
    have = cgroup.layout()
    with pytest.MonkeyPatch.context() as patch:
        own_state(tmp_path_factory, patch)
        asked = Description(name="farm", nodes=3, slurm=True, memory_bytes=2**30)
        try:
            manager.require(asked)
            slurm = userland.ensure(extra=manager.packages(SLURM))
        except MissingError as error:
            pytest.skip(f"{error.message}; {error.remedy}")
        if not have.v1.keys() >= {"cpu", "memory", "cpuset", "freezer"}:
            pytest.skip("control groups within a container are those of version 1 here")
        base = tmp_path_factory.mktemp("base")
        with _root(slurm.tree, base):
            state = manager.create_from(asked, lambda folder: _furnished(base, folder))
            try:
                for node in state.nodes:
                    _enter(state, node, _groups(have))
                eventually(lambda: answer("farm", "sinfo", "-h", "-N", "-o", "%T") == _IDLE)
                yield state
            finally:
                manager.destroy("farm")


@contextmanager
def _root(slurm: Path, base: Path) -> Iterator[None]:
    """Mount at `base/tree` this machine's root with what Slurm's has besides above it."""
    layer, tree = base / "layer", base / "tree"
    layer.mkdir()
    tree.mkdir()
    process.run(["mount", "-t", "tmpfs", "-o", "mode=755", "layer", str(layer)])
    try:
        for folder, _, files in os.walk(slurm):
            for name in files:
                path = Path(folder, name).relative_to(slurm)
                if not os.path.lexists("/" / path):
                    (layer / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(slurm / path, layer / path, follow_symlinks=False)
        (layer / "etc").mkdir(exist_ok=True)
        for name in ("passwd", "group", "shadow"):
            own = Path("/etc", name).read_text(encoding="utf-8").splitlines()
            known = {line.partition(":")[0] for line in own}
            theirs = (slurm / "etc" / name).read_text(encoding="utf-8").splitlines()
            more = [line for line in theirs if line.partition(":")[0] not in known]
            (layer / "etc" / name).write_text("\n".join([*own, *more, ""]), encoding="utf-8")
        layers = f"ro,lowerdir={layer}:/"
        process.run(["mount", "-t", "overlay", "-o", layers, "farm", str(tree)])
        try:
            yield
        finally:
            process.run(["umount", str(tree)])
    finally:
        process.run(["umount", str(layer)])


_IDLE = ["idle"] * 3


def _furnished(base: Path, folder: Path) -> Path:
    """Put the image of containers where it is no layer of the nodes' own root."""
    image = built().folder
    there = folder / "home" / "cache" / "images" / image.name
    there.mkdir(parents=True)
    shutil.copy(image / "metadata.json", there)
    process.run(["cp", "--archive", "--link", str(image / "tree"), str(there)])
    return base


def _groups(have: cgroup.Layout) -> str:
    """Script that mounts the control groups of a node as this machine mounts its own."""
    mounts: dict[Path, list[str]] = {}
    for controller, root in have.v1.items():
        mounts.setdefault(root, []).append(controller)
    lines = ["set -e", "mount -t tmpfs groups /sys/fs/cgroup"]
    lines.append("mkdir -p /var/lib/containers; mount -t tmpfs podman /var/lib/containers")
    for root, controllers in mounts.items():
        named = ("none", *controllers) if controllers[0].startswith("name=") else controllers
        options = ",".join(named)
        lines.append(f"mkdir -p {root}; mount -t cgroup -o {options} groups {root}")
    return "\n".join(lines)


def _enter(state: State, node: Node, script: str) -> str:
    """Output of a script that root runs on a node."""
    place = manager.place_of(state)
    inside = configuration.user_command(["sh", "-c", script], root=True)
    backend = manager.backend(state.description)
    return process.run(backend.enter(place, node, inside, {})).stdout


def experiment(folder: Path) -> Path:
    """The experiment of `test_real_hosts`, its hosts being nodes."""
    own = ("env", "AFERIR_CACHE=/home/cache", "AFERIR_STATE=/dev/shm/state")
    by = (sys.executable, "-m", "aferir", "cluster", "run", "--root", "farm", "--", *own)
    text = EXPERIMENT.format(hosts=LENT.format(by=json.dumps(shlex.join(by))))
    for host in re.findall(r'^host = "(?!slurm)(.*)"$', text, re.MULTILINE):
        names = ",".join(NODES[one] for one in host.split(","))
        text = text.replace(f'host = "{host}"', f'host = "{names}"')
    path = folder / "farm.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_experiment_over_three_hosts_runs_on_nodes_of_slurm(
    nodes: State, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    line = [sys.executable, "-m", "aferir", "run", str(experiment(tmp_path)), "--runs", str(runs)]
    child = process.start([*line, "--json"], stdout=-1, stderr=-1)
    out, err = child.communicate()
    assert child.returncode == 0, err
    found = json.loads(out)["evaluation"]["cells"]
    assert [(cell["cell"], cell["failures"]) for cell in found if cell["failures"]] == [], err
    environments = {"all", "bare", "lxc", "podman", "kernel", "both", "served"}
    assert {cell["environment"] for cell in found} == environments
    (folder,) = runs.iterdir()
    assert not open_run(folder).provenance.left_out
    assert not run("farm", "squeue", "-h")
    assert not [entry for entry in journal.entries() if entry.kind == "slurm"]
    for node in nodes.nodes:
        assert not _enter(nodes, node, "ls /dev/shm/state/journal")
