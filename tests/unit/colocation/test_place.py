"""The place of the batch program's group, in simulated hierarchies of both versions."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.colocation import batch, place
from aferir.colocation.place import Place
from aferir.colocation.service import ServiceSpec
from aferir.colocation.settings import Batch
from aferir.linux.cgroup import Layout

_PID = ServiceSpec("pid", "7")


def _group(root: Path, path: str, *, shares: int = 1_024, idle: bool = False) -> Path:
    """A group of version 1 with those above it."""
    folder = root
    for part in PurePosixPath(path).parts:
        folder /= part
        if not folder.exists():
            folder.mkdir()
            (folder / "cpu.shares").write_text("1024\n")
            (folder / "cpu.idle").write_text("0\n")
    (folder / "cpu.shares").write_text(f"{shares}\n")
    (folder / "cpu.idle").write_text(f"{int(idle)}\n")
    return folder


def test_beside_a_service_of_everybodys_weight_the_root_is_highest(tmp_path: Path) -> None:
    own = _group(tmp_path, "system.slice/nginx.service")
    assert place.below(tmp_path, {own}, may_enter=True) == Place(parent=tmp_path)


def test_the_root_itself_is_where_a_service_without_a_group_is(tmp_path: Path) -> None:
    assert place.below(tmp_path, {tmp_path}, may_enter=True) == Place(parent=tmp_path)
    assert place.below(tmp_path, set(), may_enter=True) == Place(parent=tmp_path)


@pytest.mark.parametrize("how", [{"idle": True}, {"shares": 2}, {"shares": 50}], ids=str)
def test_it_is_within_every_group_that_gives_way_and_holds_the_service(
    tmp_path: Path, how: dict[str, int]
) -> None:
    outer = _group(tmp_path, "limited", **how)  # type: ignore[arg-type]
    inner = _group(tmp_path, "limited/more", **how)  # type: ignore[arg-type]
    own = _group(tmp_path, "limited/more/slice/service")
    found = place.below(tmp_path, {own}, may_enter=True)
    assert found == Place(parent=inner)
    assert found.parent != outer


def test_a_service_alone_in_a_low_group_is_joined_there_or_told_of(tmp_path: Path) -> None:
    own = _group(tmp_path, "helpers", idle=True)
    assert place.below(tmp_path, {own}, may_enter=True) == Place(parent=own)
    named = place.below(tmp_path, {own}, may_enter=False)
    assert (named.parent, named.low) == (tmp_path, own)
    assert str(own) in named.problem
    assert named.share < 0.01


def test_a_quota_is_no_rank_and_is_not_shared_with_the_batch(tmp_path: Path) -> None:
    own = _group(tmp_path, "limited/service")
    (tmp_path / "limited" / "cpu.cfs_quota_us").write_text("50000\n")
    assert place.below(tmp_path, {own}, may_enter=True).parent == tmp_path


def test_where_the_services_groups_part_nothing_deeper_holds_all_of_it(tmp_path: Path) -> None:
    _group(tmp_path, "low", shares=2)
    one = _group(tmp_path, "low/one", shares=512)
    two = _group(tmp_path, "low/two", shares=20)
    found = place.below(tmp_path, {one, two}, may_enter=True)
    assert (found.parent, found.low) == (tmp_path / "low", two)
    assert found.share == pytest.approx(20 / 1_024)
    assert place.below(tmp_path, {one, tmp_path / "low"}, may_enter=True).parent == one.parent


_LEVELS = st.lists(
    st.tuples(st.integers(2, 262_144), st.booleans()) | st.just((1_024, False)),
    min_size=1,
    max_size=5,
)


@given(_LEVELS, st.booleans())
def test_it_gives_way_to_all_it_can_and_to_the_service_always(
    levels: list[tuple[int, bool]], may_enter: bool
) -> None:
    """The groups above it are low, the service's group beside it is not, or cannot be entered."""
    root = Path(tempfile.mkdtemp())
    try:
        path = PurePosixPath()
        for number, (shares, idle) in enumerate(levels):
            path /= f"g{number}"
            own = _group(root, str(path), shares=shares, idle=idle)
        found = place.below(root, {own}, may_enter=may_enter)
        low = [idle or shares < 102.4 for shares, idle in levels]
        depth = len(found.parent.relative_to(root).parts)
        assert all(low[:depth])
        assert depth < len(levels) or may_enter
        if depth < len(levels):
            last = depth == len(levels) - 1 and not may_enter
            assert not low[depth] or last
            assert (found.low is not None) == low[depth]
        assert 0 < found.share <= 1
    finally:
        shutil.rmtree(root)


def test_paths_of_groups_are_read_of_both_versions() -> None:
    text = "4:memory:/a\n3:cpu,cpuacct:/b/c\n2:cpuset:/\n0::/v2/d e\n"
    assert place.group_of(text, "cpu") == PurePosixPath("b/c")
    assert place.group_of(text, "") == PurePosixPath("v2/d e")
    assert place.group_of(text, "freezer") is None
    assert place.group_of("0::/../../outside\n", "") is None


@pytest.mark.parametrize(
    ("spec", "path", "stands"),
    [
        (
            ServiceSpec("unit", "nginx"),
            "system.slice/nginx.service/x",
            "system.slice/nginx.service",
        ),
        (ServiceSpec("unit", "a.scope"), "user.slice/b.scope", "user.slice/b.scope"),
        (ServiceSpec("cgroup", "/docker/1"), "docker/1/init", "docker/1"),
        (ServiceSpec("cgroup", "/docker/1"), "docker/12", "docker/12"),
        (_PID, "docker/1/init", "docker/1/init"),
    ],
    ids=str,
)
def test_a_named_group_stands_for_all_that_is_in_it(
    spec: ServiceSpec, path: str, stands: str
) -> None:
    assert place.own_group(spec, PurePosixPath(path)) == PurePosixPath(stands)


def test_weights_are_relative_to_the_services_group_beside_it() -> None:
    v1 = batch.Group("x", {"cpu": Path("/x")}, share=0.25)
    v2 = batch.Group("x", {"unified": Path("/x")}, share=0.25)
    want = Batch(weight=40)
    assert batch.writes(Batch(), want, v1, ()) == [("cpu", "cpu.shares", "102")]
    assert batch.writes(Batch(), want, v2, ()) == [("unified", "cpu.weight", "10")]
    least = Batch(weight=1)
    assert batch.writes(Batch(), least, v1, ()) == [("cpu", "cpu.shares", "2")]
    assert batch.writes(Batch(), least, v2, ()) == [("unified", "cpu.weight", "1")]


def test_hierarchies_that_share_out_no_cpus_have_it_at_their_root(tmp_path: Path) -> None:
    roots = {name: tmp_path / name for name in ("cpu", "cpuacct", "freezer")}
    own = tmp_path / "cpu" / "low"
    have = Layout(v1=roots, v2=tmp_path / "unified")
    assert batch.parents(have, Place(parent=own)) == {
        **roots,
        "cpu": own,
        "unified": tmp_path / "unified",
    }
    assert batch.parents(have, None)["cpu"] == tmp_path / "cpu"
