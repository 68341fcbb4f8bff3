"""Whatever a SIGKILL leaves, at whichever moment it comes, is found and removed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from aferir import registry
from aferir.linux import journal, undo
from aferir.model.plan import EnvironmentKind
from tests.integration.support import groups_of, killed_after, leftovers, own_state, usable

pytestmark = pytest.mark.integration
SEED = 20
ALLOCATING = """
import sys
from aferir import registry
from aferir.model.plan import EnvironmentSpec
kind = sys.argv[1]
spec = EnvironmentSpec(name="k", kind=kind, cpus=1, memory_bytes=2**28, cpu_quota=0.9)
environment = registry.by_kind(kind)
print("go", flush=True)
while True:
    instance = environment.allocate(spec)
    if kind != "vm":
        instance.run(["sh", "-c", "sleep 1000 & sleep 0.02"])
    instance.release()
"""
BUILDING = """
from aferir.image import userland as image
print("go", flush=True)
userland.ensure()
"""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "trials", "longest_s"), [("native", 4, 0.1), ("container", 12, 0.25), ("vm", 5, 5.0)]
)
def test_instances(kind: EnvironmentKind, trials: int, longest_s: float) -> None:
    if kind == "native" and os.geteuid() != 0:
        pytest.skip("limits on the host take root")
    usable(kind)
    draw = random.Random(SEED)  # noqa: S311 - not cryptography
    seen: set[str] = set()
    for _ in range(trials):
        killed_after(draw.uniform(0, longest_s), ALLOCATING, kind)
        orphans = journal.orphans()
        seen.update(entry.kind for entry in orphans)
        assert registry.clean(orphans) == []
        assert leftovers() == []
        assert groups_of([entry.id for entry in orphans]) == []
        assert registry.clean(orphans) == []
    assert seen <= {kind, "cgroup", "trial"}
    assert seen, "no kill found anything half made: the test tests nothing"


def test_building_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usable("vm")
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    draw = random.Random(SEED)  # noqa: S311 - not cryptography
    for _ in range(2):
        killed_after(draw.uniform(1, 8), BUILDING)
        orphans = journal.orphans()
        assert [entry.kind for entry in orphans] == ["image"]
        assert registry.clean(orphans) == []
        assert leftovers() == []
        assert undo.kill_marked(orphans[0].id) == 0
        assert not list((tmp_path / "cache").glob("images/*"))
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        assert undo.mounts_below(tmp_path, text) == []
