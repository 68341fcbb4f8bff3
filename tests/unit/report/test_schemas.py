"""Files of runs agree with the published schemas, also those that an earlier version wrote."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aferir.cli import main
from aferir.cli.schema import FILES_OF_A_RUN
from aferir.report.schemas import FILES, schema
from aferir.report.write.json import FORMAT, Export
from tests.checkout import ROOT

jsonschema: Any = pytest.importorskip("jsonschema")
FIXTURES = Path(__file__).parent / "fixtures"
PUBLISHED = ROOT / "docs/reference/schemas"
RELEASED = {
    "run.json:1.1": "5430a7a6424d5cc9",
    "plan.json:1.1": "55ab91644c723c48",
    "provenance.json:1.1": "3cce3a704f7d7475",
    "records.jsonl:1.1": "a8cf6fa89f70e5af",
    "complete.json:1.1": "52eec0dddc76eccf",
    "report.json:1.1": "a734423da27c9d92",
}
"""Start of the SHA-256 of each schema that was in a release of aferir, by name and version."""


@pytest.fixture(scope="module")
def run_of_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folder of format 1, with the report that this version writes of it."""
    folder = tmp_path_factory.mktemp("run") / "run-format-1"
    shutil.copytree(FIXTURES / "run-format-1", folder)
    assert main(["report", str(folder)]) == 0
    return folder


def documents(path: Path) -> Iterator[Any]:
    text = path.read_text(encoding="utf-8")
    for one in text.splitlines() if path.suffix == ".jsonl" else [text]:
        yield json.loads(one)


def faults(name: str, path: Path) -> list[str]:
    check = jsonschema.Draft202012Validator(schema(name))
    return [error.message for one in documents(path) for error in check.iter_errors(one)]


@pytest.mark.parametrize("name", FILES)
def test_files_of_this_and_of_an_earlier_version_agree_with_the_schema(
    name: str, run_of_before: Path
) -> None:
    assert faults(name, run_of_before / name) == []


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_report_of_an_earlier_version_is_read(number: int) -> None:
    path = FIXTURES / f"report-format-{number}/report.json"
    assert faults("report.json", path) == []
    read = msgspec.json.decode(path.read_bytes(), type=Export)
    assert [cell.duration.n for cell in read.evaluation.cells] == [6, 5, 2, 6, 6, 2]


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_another_shape_is_refused(name: str, run_of_before: Path) -> None:
    check = jsonschema.Draft202012Validator(schema(name))
    whole = next(documents(run_of_before / name))
    for key in schema(name)["$defs"][FILES[name].content.__name__]["required"]:
        assert not check.is_valid({other: whole[other] for other in whole if other != key}), key


@pytest.mark.parametrize("name", FILES)
def test_the_published_schema_is_the_one_of_the_declarations(name: str) -> None:
    """A change raises the version in `schemas.py`; `make reference` publishes it."""
    assert json.loads((PUBLISHED / name).read_text(encoding="utf-8")) == schema(name)


@pytest.mark.parametrize("name", FILES)
def test_a_schema_that_was_released_does_not_change(name: str) -> None:
    """Raise the revision in `schemas.py` for a new field, the format for anything else."""
    digest = hashlib.sha256(json.dumps(schema(name), sort_keys=True).encode()).hexdigest()[:16]
    assert RELEASED.get(f"{name}:{FILES[name].version}", digest) == digest


def test_every_file_has_a_schema_that_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(FILES) == FILES_OF_A_RUN
    assert main(["schema", "--of", "run.json"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("run.json")
