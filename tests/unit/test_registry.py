"""Kinds of environment that other packages add, and messages about unusable ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aferir import registry, runner
from aferir.config import parse, reference, schema
from aferir.environments.base import Context
from aferir.errors import UsageError
from aferir.linux import journal
from aferir.machine import host_limits
from tests.packages import example_kind, example_program, installed
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
    for name in ("heaps_package", "sorting_package", "wrong_package"):
        sys.modules.pop(name, None)


def test_the_kind_that_the_documentation_shows_runs_from_a_package_of_its_own(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(folder, monkeypatch, name="heaps_package", code=example_kind(), points=POINTS)
    known = registry.kinds()
    assert [field.key for field in known["heaps"].keys] == [
        "cpus",
        "memory",
        "pin",
        "host",
        "heaps",
    ]
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


SORTING = """
[experiment]
name = "sorting"
warmup = 0
[stop]
repetitions = 1
[[environment]]
name = "native"
kind = "native"
[[workload]]
name = "sorted"
program = "sorting"
numbers = 1000
[factors]
down = [false, true]
"""


def test_the_program_that_the_documentation_shows_runs_from_a_package_of_its_own(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[aferir.programs]\nsorting = sorting_package:SORTING\n"
    installed(folder, monkeypatch, name="sorting_package", code=example_program(), points=points)
    known, kinds = registry.all_programs(), registry.kinds()
    assert {"npb", "sorting"} <= known.keys()
    assert "## `sorting`" in reference.page(known)
    made = schema.document(known, kinds)
    assert "sorting" in made["properties"]["workload"]["items"]["properties"]["program"]["enum"]
    with pytest.raises(UsageError, match="numbers: 0 is out of range"):
        parse(SORTING.replace("1000", "0").encode(), host_limits(), known, kinds)
    content = SORTING.encode()
    run = runner.run(
        parse(content, host_limits(), known, kinds),
        tmp_path / "runs",
        experiment=content,
        kinds=kinds,
        workloads=known,
        context=registry.context(),
    )
    measured = [record for record in run.records if record.workload == "sorted"]
    assert [record.factors for record in measured] == [{"down": False}, {"down": True}]
    assert all(record.failure is None and record.samples for record in measured)


@pytest.mark.parametrize(
    ("code", "points", "said"),
    [
        ("MINE = 7", "mine = wrong_package:MINE", "is int, which has no place in"),
        (
            "from aferir.programs.npb.threads import NPB",
            "npb = wrong_package:NPB",
            "which aferir has too",
        ),
    ],
)
def test_a_package_that_adds_a_program_that_is_none_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, points: str, said: str
) -> None:
    points = f"[aferir.programs]\n{points}\n"
    installed(folder, monkeypatch, name="wrong_package", code=code, points=points)
    with pytest.raises(UsageError) as caught:
        registry.all_programs()
    assert said in caught.value.message
    assert "wrong_package" in f"{caught.value.message} {caught.value.remedy}"


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
