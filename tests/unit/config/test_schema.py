"""The JSON Schema of experiment files, judged by an independent validator; and the pages."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.cli import main
from aferir.config import reference, schema
from aferir.model.checking import Refused, read_value
from aferir.model.parameters import Field, names
from aferir.model.units import format_duration, format_size
from aferir.programs.base import declared_by
from aferir.registry import all_programs, kinds
from tests.checkout import ROOT
from tests.unit.config.broken_files import BROKEN
from tests.unit.config.broken_pieces import GOOD

EXPERIMENTS = sorted((ROOT / "experiments").glob("*.toml"))
BEYOND_A_SCHEMA = 33
"""Broken files whose fault is in the host, between two tables, or in a sum of durations."""


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    made = json.loads(json.dumps(schema.document(all_programs(), kinds())))
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_is_valid(validator: Any, path: Any) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in validator.iter_errors(document)] == []


def test_what_is_broken_is_refused_as_far_as_a_schema_can_tell(validator: Any) -> None:
    accepted: list[str] = []
    refused: list[str] = []
    for name, (content, *_) in BROKEN.items():
        try:
            document = tomllib.loads(content)
        except (ValueError, RecursionError):
            continue
        (accepted if validator.is_valid(document) else refused).append(name)
    assert len(accepted) <= BEYOND_A_SCHEMA, accepted
    assert len(refused) >= 84


@pytest.mark.parametrize(
    "lines",
    [
        "array_bytes = 1",
        'program = "npbb"',
        "threads = 0",
        'kernel = "epp"',
        'threads = "2"',
        'class = "s"',
        "unknown = 1",
        'time_limit = "90"',
        'time_limit = "1 s 2 h"',
        "environments = []",
        'environments = ["native", "native"]',
        'emulated = "perhaps"',
    ],
)
def test_a_table_of_a_program_has_its_keys_alone(validator: Any, lines: str) -> None:
    key = lines.partition(" ")[0]
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{key} =")]
    document = tomllib.loads("\n".join([*kept, lines]))
    assert validator.is_valid(tomllib.loads(GOOD))
    assert not validator.is_valid(document)


def test_no_pattern_escapes_what_other_languages_do_not(validator: Any) -> None:
    """ECMA-262, whose patterns JSON Schema takes, refuses an escaped hyphen (`\\-`)."""
    assert r"\\-" not in json.dumps(validator.schema)


def test_what_a_program_needs_may_come_from_a_factor(validator: Any) -> None:
    bare = GOOD.replace('kernel = "ep"\n', "")
    assert not validator.is_valid(tomllib.loads(bare))
    assert validator.is_valid(tomllib.loads(bare + '[factors]\nkernel = ["ep", "cg"]\n'))
    assert not validator.is_valid(tomllib.loads(bare + '[factors]\nkernel = ["ep", "cq"]\n'))


def test_every_program_and_kind_is_offered_with_all_its_keys() -> None:
    made = schema.document(all_programs(), kinds())["properties"]
    for section, known in (("workload", all_programs()), ("environment", kinds())):
        rules = made[section]["items"]["allOf"]
        offered = [rule["then"]["properties"] for rule in rules]
        assert len(offered) == len(known)
    for program, rule in zip(
        all_programs().values(), made["workload"]["items"]["allOf"], strict=True
    ):
        keys = rule["then"]["properties"]
        assert {*names(program.parameters), "name", "time_limit", "program"} <= keys.keys()
        assert all("description" in keys[name] for name in names(program.parameters))


def test_the_committed_page_and_schema_are_what_the_declarations_say() -> None:
    """Run `make reference` where this fails."""
    folder = ROOT / "docs/reference"
    page = (folder / "programs.md").read_text(encoding="utf-8")
    assert page == reference.page(all_programs())
    keys = (folder / "environment-keys.md").read_text(encoding="utf-8")
    assert keys == reference.environments(kinds())
    sections = (folder / "experiment-keys.md").read_text(encoding="utf-8")
    assert sections == reference.sections()
    made = json.loads((folder / "experiment.schema.json").read_text(encoding="utf-8"))
    assert made == json.loads(json.dumps(schema.document(all_programs(), kinds())))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_editors_find_the_schema_of_every_experiment(path: Any) -> None:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    key, _, target = first.partition(" ")
    assert key == "#:schema"
    assert (path.parent / target).resolve() == ROOT / "docs/reference/experiment.schema.json"


def test_the_verb_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"].endswith("2020-12/schema")
    assert main(["schema", "--markdown"]) == 0
    assert "## `memory-bandwidth`" in capsys.readouterr().out
    assert main(["schema", "--markdown", "sections"]) == 0
    assert "## `[experiment]`" in capsys.readouterr().out


def _written(field: Field) -> st.SearchStrategy[object]:
    """Values near what may be written: right ones and wrong ones."""
    near: list[st.SearchStrategy[object]] = [
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ]
    least, most = int(field.least or 0), int(min(field.most or 2**40, 2**40))
    inside = st.integers(least, max(least, most))
    near += [inside, inside.map(format_size), st.integers(0, 10**9).map(_microseconds)]
    if field.words:
        near.append(st.sampled_from(field.words))
    if field.example:
        near.append(st.just(field.example))
    if field.item is not None:
        items = st.sampled_from(field.item.words or (0, 1))
        near += [st.lists(items, max_size=3), st.lists(items, max_size=3).map(_joined)]
    return st.one_of(near)


def _microseconds(count: int) -> str:
    return format_duration(count / 1e6)


def _joined(items: list[str | int]) -> str:
    return ", ".join(map(str, items))


DECLARED = {
    f"{owner}.{field.key}": field
    for owner, fields in (
        *((name, declared_by(one)) for name, one in all_programs().items()),
        *((name, one.keys) for name, one in kinds().items()),
    )
    for field in fields
}


@settings(max_examples=200)
@given(st.data())
def test_nothing_that_aferir_takes_is_refused_by_the_schema(validator: Any, data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(DECLARED)))
    field = DECLARED[name]
    value = data.draw(_written(field))
    try:
        read_value(field, value)
    except Refused:
        return
    one = validator.evolve(schema=schema.value_schema(field))
    assert one.is_valid(value), (name, value)
