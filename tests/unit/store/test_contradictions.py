"""A run whose files are readable but contradict themselves is damaged, and breaks no list."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aferir.errors import UsageError
from aferir.model.plan import recorded_cells
from aferir.store import list_runs, open_run
from aferir.store.lines import decode_lines, encode_line, salvage
from tests.unit.report.one_run import one_run

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("plan.json", lambda plan: plan["environments"].pop(), "an environment that it lacks"),
        ("plan.json", lambda plan: plan["cells"].append(plan["cells"][0]), "occurs twice"),
        (
            "plan.json",
            lambda plan: plan["environments"].append(plan["environments"][0]),
            "occurs twice",
        ),
        ("run.json", lambda run: run.update(created_unix_ns=10**25), "created_unix_ns"),
        ("run.json", lambda run: run.update(created_unix_ns=-1), "created_unix_ns"),
    ],
)
def test_a_contradiction_is_damage_that_the_list_tells(
    tmp_path: Path, name: str, change: Change, reason: str
) -> None:
    run, _ = one_run(tmp_path)
    path = run.folder / name
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    (listed,) = list_runs(tmp_path)
    assert listed.status == "damaged"
    assert reason in listed.note
    with pytest.raises(UsageError, match=f"{name} is damaged"):
        open_run(run.folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"unit":"s"', b'"unit":"ms"'),
        (b'"samples":[', b'"samples":[{"metric":"duration_s","value":9.0,"unit":"s"},'),
    ],
)
def test_a_duration_in_another_unit_or_twice_is_a_damaged_line(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    run, _ = one_run(tmp_path)
    lines = [encode_line(record) for record in run.records]
    content = b"".join([lines[0].replace(old, new, 1), *lines[1:]])
    with pytest.raises(ValueError, match=r"line 1 is damaged: duration_s of .* one in s"):
        decode_lines(content)
    whole, problems = salvage(content, recorded_cells(run.plan))
    assert whole == b"".join(lines[1:])
    assert len(problems) == 1
