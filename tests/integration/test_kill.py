"""Remains of a SIGKILL at any moment, even of an image, are found and removed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from aferir import registry
from aferir.linux import journal, undo
from tests.integration.support import killed_after, leftovers, own_state, usable

pytestmark = pytest.mark.integration
SEED = 20
BUILDING = """
from aferir.image import userland
print("go", flush=True)
userland.ensure()
"""


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def test_building_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usable("vm")
    monkeypatch.setenv("AFERIR_CACHE", str(tmp_path / "cache"))
    cache = tmp_path / "cache" / "images"
    draw = random.Random(SEED)  # noqa: S311 - not cryptography
    # At the beginning, and when the userland has been unpacked: on no machine is it done by then.
    moments: tuple[Callable[[], object], ...] = (
        lambda: list(journal.entries()),
        lambda: list(cache.glob("*/tree/etc/passwd")),
    )
    for moment in moments:
        killed_after(draw.uniform(0, 1), BUILDING, once=moment)
        orphans = journal.orphans()
        assert [entry.kind for entry in orphans] == ["image"]
        assert registry.clean(orphans) == []
        assert leftovers() == []
        assert undo.kill_marked(orphans[0].id) == 0
        assert not list((tmp_path / "cache").glob("images/*"))
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        assert undo.mounts_below(tmp_path, text) == []
