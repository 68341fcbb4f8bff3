from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath
from typing import ClassVar

import pytest

from aferir import registry
from aferir.errors import MissingError, ProgramError
from aferir.linux import journal, process, undo
from aferir.model.plan import SCRATCH, EnvironmentSpec
from tests.asleep import nobody_elses
from tests.integration.contract import EveryKind
from tests.integration.support import (
    check_quota,
    groups_of,
    leftovers,
    own_state,
)
from tests.waiting import eventually

pytestmark = pytest.mark.integration
HOST = 2**60
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="limits on the host take root")


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


def spec(**changes: object) -> EnvironmentSpec:
    values = {"name": "n", "kind": "native", "cpus": 1, "memory_bytes": HOST, **changes}
    return EnvironmentSpec(**values)  # type: ignore[arg-type]


class TestNative(EveryKind):
    kind = "native"
    keys: ClassVar = {"cpu_quota": 0.9} if os.geteuid() == 0 else {"memory_bytes": HOST}
    kills = 6 if os.geteuid() == 0 else 0
    longest_start_s = 0.1
    entries = ("cgroup",)


class TestCloud(EveryKind):
    kind = "cloud"
    here = False
    kills = 0


def test_a_file_may_be_put_where_it_is(tmp_path: Path) -> None:
    instance = registry.by_kind("native").allocate(spec())
    (tmp_path / "source").write_text("content")
    instance.put(tmp_path / "source", PurePosixPath(tmp_path / "source"))
    assert (tmp_path / "source").read_text() == "content"
    instance.release()


def test_the_last_cpu_is_the_only_one_where_pinned() -> None:
    last = max(os.sched_getaffinity(0))
    instance = registry.by_kind("native").allocate(spec(pin=(last,)))
    done = instance.run(["sh", "-c", "nproc; grep Cpus_allowed_list /proc/self/status"])
    instance.release()
    assert done.stdout.split() == ["1", "Cpus_allowed_list:", str(last)]


def test_a_cpu_that_is_not_there_is_missing() -> None:
    with pytest.raises(MissingError, match="9999"):
        registry.by_kind("native").allocate(spec(pin=(9999,)))
    with pytest.raises(MissingError, match="9999"):
        registry.by_kind("native").allocate(spec(cpus=9999))


@needs_root
def test_a_quota_of_a_tenth_gives_a_tenth() -> None:
    instance = registry.by_kind("native").allocate(spec(cpu_quota=0.1))
    ids = [entry.id for entry in journal.entries()]
    check_quota(instance, 0.1)
    instance.release()
    assert groups_of(ids) == []
    assert leftovers() == []


@needs_root
def test_more_memory_than_allowed_is_refused() -> None:
    instance = registry.by_kind("native").allocate(spec(memory_bytes=2**26))
    try:
        with pytest.raises(ProgramError):
            instance.run(["sh", "-c", "head -c 200m /dev/zero | tail -c 200m > /dev/null; exit $?"])
        instance.run(["sh", "-c", "head -c 10m /dev/zero | tail -c 10m > /dev/null"])
    finally:
        instance.release()
    assert leftovers() == []


WRITES = 'echo "$AFERIR_SCRATCH"; echo 1 > "$AFERIR_SCRATCH/file"'


def test_files_of_a_run_are_in_a_folder_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    instance = registry.by_kind("native").allocate(spec())
    wanted, seconds = {SCRATCH: str(tmp_path)}, nobody_elses()
    done = instance.run(
        ["sh", "-c", f"{WRITES}; setsid sleep {seconds} > /dev/null 2>&1 &"], environment=wanted
    )
    assert Path(done.stdout.strip()).parent == tmp_path
    with pytest.raises(ProgramError):
        instance.run(["sh", "-c", f"{WRITES}; exit 3"], environment=wanted)
    with pytest.raises(MissingError, match="no files can be put"):
        instance.run(["true"], environment={SCRATCH: str(tmp_path / "none")})
    instance.release()
    assert list(tmp_path.iterdir()) == []
    assert leftovers() == []
    assert undo.processes(lambda words, _: words == ["sleep", seconds]) == []


def test_what_a_kill_leaves_of_a_run_is_cleaned(tmp_path: Path) -> None:
    code = (
        "from aferir import registry; from aferir.model.plan import EnvironmentSpec as S\n"
        "s = S(name='n', kind='native', cpus=1, memory_bytes=2**60)\n"
        f"v = {{'{SCRATCH}': '{tmp_path}'}}\n"
        "i = registry.by_kind('native').allocate(s)\n"
        f"i.run(['sh', '-c', '{WRITES}; sleep 100'], environment=v)\n"
    )
    child = process.start([sys.executable, "-c", code])
    eventually(lambda: [path for path in tmp_path.glob("*/file") if path.read_text()])
    child.kill()
    child.wait()
    assert [path.read_text() for path in tmp_path.glob("*/file")] == ["1\n"]
    assert registry.clean(journal.orphans()) == []
    assert list(tmp_path.iterdir()) == []
    assert leftovers() == []
