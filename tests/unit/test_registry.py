"""Kinds of environment that other packages add, and what is said of those that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import registry, runner
from aferir.config import parse
from aferir.environments.base import Context
from aferir.errors import UsageError
from aferir.linux import journal
from aferir.machine import host_limits
from tests.packages import example_kind, installed
from tests.unit.runner.fakes import WORKLOADS

POINTS = "[aferir.environments]\nheaps = heaps_package:HEAPS\n"
EXPERIMENT = """
[experiment]
name = "heaps"
warmup = 0
[stop]
repetitions = 1
[[environment]]
name = "native"
kind = "native"
[[environment]]
name = "few"
kind = "heaps"
[[workload]]
name = "told"
program = "shell"
script = '''echo "{\\"duration_s\\": ${MALLOC_ARENA_MAX:-0}.5}"; test -d "${TMPDIR:-/tmp}"'''
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFERIR_STATE", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "site").mkdir()
    yield tmp_path / "site"
    for name in ("heaps_package", "mine_package", "wrong_package"):
        sys.modules.pop(name, None)


def test_the_kind_that_the_documentation_shows_runs_from_a_package_of_its_own(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(folder, monkeypatch, name="heaps_package", code=example_kind(), points=POINTS)
    known = registry.kinds()
    assert [field.key for field in known["heaps"].keys] == ["cpus", "memory", "pin", "heaps"]
    content = EXPERIMENT.encode()
    plan = parse(content, host_limits(), WORKLOADS, known)
    run = runner.run(
        plan,
        tmp_path / "runs",
        experiment=content,
        kinds=known,
        workloads=WORKLOADS,
        context=registry.context(),
    )
    found = {
        record.environment: sample.value
        for record in run.records
        for sample in record.samples
        if sample.metric == "duration_s"
    }
    assert found == {"native": 0.5, "few": 8.5}
    assert list(journal.entries()) == []


def test_its_key_is_checked_and_is_a_factor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(folder, monkeypatch, name="heaps_package", code=example_kind(), points=POINTS)
    known = registry.kinds()
    one = EXPERIMENT.replace(
        'name = "native"\nkind = "native"\n', 'name = "native"\nkind = "heaps"\n'
    )
    levels = '[factors]\n"environment.heaps" = [1, {}]\n'
    plan = parse((one + levels.format(4)).encode(), host_limits(), WORKLOADS, known)
    names = ["native[heaps=1]", "few[heaps=1]", "native[heaps=4]", "few[heaps=4]"]
    assert [spec.name for spec in plan.environments] == names
    with pytest.raises(UsageError, match=r"heaps\[2\]: 5000 is out of range; .* from 1 to 1024"):
        parse((one + levels.format(5000)).encode(), host_limits(), WORKLOADS, known)


def test_what_a_killed_one_left_is_removed_as_of_any_other_kind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(folder, monkeypatch, name="heaps_package", code=example_kind(), points=POINTS)
    entry = journal.write("heaps", {"parent": str(folder)})
    left = folder / f"aferir-{entry.id}"
    left.mkdir()
    assert registry.clean([entry]) == []
    assert not left.exists()
    assert list(journal.entries()) == []
    assert registry.clean([entry]) == []


@pytest.mark.parametrize(
    ("code", "points", "said"),
    [
        ("raise RuntimeError('torn')", "heaps = wrong_package:HEAPS", "RuntimeError: torn"),
        ("", "heaps = wrong_package:HEAPS", "AttributeError"),
        ("", "heaps = nothing_there:HEAPS", "ModuleNotFoundError"),
        ("HEAPS = 7", "heaps = wrong_package:HEAPS", "is int, which has no place in"),
        (
            "from aferir.environments.native import NATIVE as HEAPS",
            "heaps = wrong_package:HEAPS",
            "calls itself `native`",
        ),
        (
            "from aferir.environments.native import NATIVE",
            "native = wrong_package:NATIVE",
            "which aferir has too",
        ),
    ],
)
def test_a_package_that_adds_what_cannot_be_used_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, points: str, said: str
) -> None:
    installed(
        folder,
        monkeypatch,
        name="wrong_package",
        code=code,
        points=f"[aferir.environments]\n{points}\n",
    )
    with pytest.raises(UsageError) as caught:
        registry.kinds()
    assert said in caught.value.message
    assert "wrong_package" in f"{caught.value.message} {caught.value.remedy}"


PROGRAM = """
from tests.unit.runner.fakes import Shell
class Mine(Shell):
    name = "mine"
MINE = Mine()
"""


def test_a_program_from_a_package_is_one_of_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[aferir.programs]\nmine = mine_package:MINE\n"
    installed(folder, monkeypatch, name="mine_package", code=PROGRAM, points=points)
    known = registry.all_programs()
    assert {"npb", "mine"} <= known.keys()
    content = EXPERIMENT.replace('"shell"', '"mine"').replace('"heaps"', '"container"').encode()
    plan = parse(content, host_limits(), known, registry.kinds())
    assert {cell.workload.program for cell in plan.cells} == {"mine"}


def test_every_kind_is_called_as_it_is_found_and_describes_its_keys() -> None:
    for name, kind in registry.kinds().items():
        assert name == kind.name
        assert kind.make(Context()).kind == name
        assert [field.key for field in kind.keys if field.required or field.help] == [
            field.key for field in kind.keys
        ]


def test_help_of_the_command_line_waits_for_no_kind_and_no_package() -> None:
    code = "import sys; sys.argv = ['aferir', '--help']; from aferir import cli\n"
    code += "try: cli.entry()\nfinally: print([m for m in sys.modules if m in %r])"
    unwanted = ("aferir.registry", "aferir.extensions", "importlib.metadata")
    done = subprocess.run(
        [sys.executable, "-c", code % (unwanted,)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "usage" in done.stdout
