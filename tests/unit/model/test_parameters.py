"""Declarations of a struct: the values that they refuse, their options, their JSON Schema."""

from __future__ import annotations

import argparse
import json
import math
import string
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.cli.parameters import add_options, read_options
from aferir.config import schema
from aferir.errors import UsageError
from aferir.model.checking import check, convert
from aferir.model.parameters import (
    default_text,
    duration,
    fields,
    names,
    number,
    several,
    size,
    text,
    told,
    whole,
)
from aferir.model.units import format_duration, format_size


class Bound(msgspec.Struct, frozen=True):
    """A quantile with its bound, which is made of text."""

    quantile: float

    @classmethod
    def parse(cls, written: str) -> Bound:
        if not written.startswith("p"):
            raise ValueError("is no bound")
        return cls(float(written[1:]) / 100)

    def __str__(self) -> str:
        return f"p{100 * self.quantile:g}"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    kernel: Annotated[Literal["ep", "cg", "is"], told("what is computed")]
    problem_class: Annotated[Literal["S", "W"], told("how large")] = msgspec.field(
        name="class", default="S"
    )
    threads: Annotated[int, whole("threads of the program", 1, 4096)] = 1
    share: Annotated[float, number("of one CPU", above=0.0, most=1.0)] = 0.5
    array_bytes: Annotated[int, size("of an array", 2**20, 2**40)] | None = None
    memory: Annotated[int, size("of all", 2**20, 2**40, bare=False)] = 2**30
    patience: Annotated[float, duration("of a client", 0.0, 3600.0)] = 2.0
    bits: Annotated[Literal[32, 64], told("of the program")] = 64
    cold: Annotated[bool, told("with empty caches")] = False
    bound: Annotated[Bound, text("what is kept", "p95", parse=Bound.parse)] = Bound(0.95)
    arms: Annotated[tuple[Literal["a", "b"], ...], several("policies", separator=",")] = ()
    pin: Annotated[tuple[Annotated[int, whole("a CPU", 0, 7)], ...], several("CPUs")] = ()


GOOD: dict[str, Any] = {"kernel": "ep"}


@pytest.mark.parametrize(
    ("key", "value", "message", "remedy"),
    [
        ("kernel", "epp", '"epp" is not known', "did you mean `ep`?"),
        ("kernel", "CG", '"CG" is not known', "did you mean `cg`?"),
        ("class", "Q", '"Q" is not known', "choose one of `S`, `W`"),
        ("threads", 0, "0 is out of range", "write a whole number from 1 to 4096"),
        ("threads", 1.0, "1.0 is a number, not a whole", "write a whole number from 1 to 4096"),
        ("threads", True, "true is true or false, not a whole", "from 1 to 4096"),
        ("threads", 10**400, "is out of range", "from 1 to 4096"),
        ("share", 0.0, "out of range", "write a number above 0 and up to 1"),
        ("share", math.nan, "NaN is out of range", "above 0 and up to 1"),
        ("share", "half", '"half" is text, not a number', "above 0 and up to 1"),
        ("array_bytes", "1 KiB", '"1 KiB" is out of range', "a size from 1 MiB to 1 TiB"),
        ("array_bytes", "1 XB", "`XB` is no unit of size", 'e.g. `array_bytes = "1 GiB"`'),
        ("memory", 2**30, "is a whole number, not a size", 'e.g. `memory = "1 GiB"`'),
        ("patience", "2 h", '"2 h" is out of range', "a duration from 0 to 1 h"),
        ("bits", 48, "48 is not known", "choose one of `32`, `64`"),
        ("cold", "yes", '"yes" is text', "write `true` or `false`"),
        ("bound", "banana", '"banana" is no bound', 'write e.g. `bound = "p95"`'),
        ("bound", 95, "95 is a whole number, not text", 'write `bound = "p95"`'),
        ("bound", "p9\n", "control characters", "use 1 to 200 printable characters"),
        ("arms", "a,typo", '"typo" is not known', "choose one of `a`, `b`"),
        ("arms", ["a", "a"], "names one of them twice", "name each once"),
        ("arms", 1, "is a whole number, not a list", 'write `arms = ["a"]`'),
        ("pin", [9], "9 is out of range", "write a whole number from 0 to 7"),
        ("pin", "0,1", "is text, not a list", "write `pin = ["),
        ("thread", 1, "is not a key of this table", "did you mean `threads`?"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_write(
    key: str, value: object, message: str, remedy: str
) -> None:
    (wrong,) = check(Sample, {**GOOD, key: value})
    assert wrong.key == key
    assert message in wrong.message
    assert remedy in wrong.remedy


def test_everything_that_is_wrong_is_told_at_once() -> None:
    values, wrong = convert(Sample, {"threads": 0, "bits": 1, "what": 1})
    assert values is None
    assert [one.key for one in wrong] == ["what", "kernel", "threads", "bits"]
    assert wrong[1].remedy == "choose one of `ep`, `cg`, `is`"


def test_what_fits_travels_parsed() -> None:
    table = {
        "kernel": "cg",
        "class": "W",
        "array_bytes": "2 MiB",
        "memory": "1 GiB",
        "patience": "1 min 30 s",
        "share": 1,
        "bound": "p99",
        "arms": "b, a",
        "pin": [1, 0],
    }
    values, wrong = convert(Sample, table)
    assert not wrong
    assert values == Sample(
        kernel="cg",
        problem_class="W",
        array_bytes=2**21,
        memory=2**30,
        patience=90.0,
        share=1.0,
        bound=Bound(0.99),
        arms=("b", "a"),
        pin=(1, 0),
    )
    assert msgspec.json.decode(msgspec.json.encode(values), type=Sample) == values


def test_a_type_that_no_file_holds_is_a_fault_of_the_declaration() -> None:
    class Odd(msgspec.Struct):
        place: complex = 0j

    with pytest.raises(TypeError, match="`place`"):
        fields(Odd)


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans()))
def test_only_whole_numbers_within_bounds_pass(value: object) -> None:
    fits = type(value) is int and 1 <= value <= 4096
    assert (check(Sample, {**GOOD, "threads": value}) == ()) == fits


@given(st.integers(2**20, 2**40), st.integers(0, 3600 * 10**6))
def test_what_is_written_with_units_is_read_back(bytes_: int, micros: int) -> None:
    table = {**GOOD, "memory": format_size(bytes_), "patience": format_duration(micros / 1e6)}
    values, wrong = convert(Sample, table)
    assert not wrong
    assert values is not None
    assert values.memory == bytes_
    assert round(values.patience * 1e6) == micros


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(names(Sample)), st.text(max_size=3)),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=4,
        ),
    )
)
def test_any_table_is_read_or_refused_in_printable_words(table: dict[str, object]) -> None:
    values, wrong = convert(Sample, table)
    assert (values is None) == bool(wrong)
    assert all(f"{one.key}{one.message}{one.remedy}".isprintable() for one in wrong)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="try")
    parser.add_argument("kernel")
    add_options(parser, Sample, leave=("kernel",))
    return parser


def test_the_command_line_says_the_same_as_a_file() -> None:
    words = [
        "ep",
        "--class",
        "W",
        "--threads",
        "2",
        "--share",
        "1",
        "--array-bytes",
        "2097152",
        "--memory",
    ]
    words += ["1 GiB", "--patience", "90", "--bits", "32", "--cold", "--bound", "p99"]
    chosen = read_options(Sample, _parser().parse_args([*words, "--arms", "b,a", "--pin", "1,0"]))
    told = {"class": "W", "threads": 2, "share": 1, "array_bytes": 2**21, "memory": "1 GiB"}
    told |= {"patience": 90, "bits": 32, "cold": True, "bound": "p99", "arms": ["b", "a"]}
    assert chosen == convert(Sample, {"kernel": "ep", **told, "pin": [1, 0]})[0]
    assert read_options(Sample, _parser().parse_args(["ep", "--no-cold"])) == Sample(kernel="ep")


def test_the_command_line_refuses_all_that_is_wrong_by_its_options() -> None:
    given_ = _parser().parse_args(["ep", "--array-bytes", "1 XB", "--threads", "many"])
    with pytest.raises(UsageError) as caught:
        read_options(Sample, given_)
    assert '--threads: "many" is text, not a whole number' in caught.value.message
    assert "--array-bytes:" in caught.value.message


def test_help_tells_bounds_and_defaults() -> None:
    said = " ".join(_parser().format_help().split())
    assert "--threads N threads of the program (from 1 to 4096; default: 1)" in said
    assert "--class {S,W} how large (default: S)" in said
    assert "--cold, --no-cold with empty caches (default: false)" in said
    assert "default: p95" in said


def test_defaults_are_written_as_in_a_file() -> None:
    written = {field.key: default_text(field) for field in fields(Sample)}
    assert written["memory"] == "1 GiB"
    assert written["patience"] == "2 s"
    assert written["cold"] == "false"


def test_the_schema_has_what_was_declared() -> None:
    whole_table = schema.table(fields(Sample))
    made = whole_table["properties"]
    assert json.loads(json.dumps(made)) == made
    assert whole_table["required"] == ["kernel"]
    assert made["threads"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 4096,
        "default": 1,
        "description": "threads of the program",
    }
    assert made["share"]["exclusiveMinimum"] == 0.0
    assert made["class"]["enum"] == ["S", "W"]
    assert [one["type"] for one in made["array_bytes"]["anyOf"]] == ["integer", "string"]
    assert made["memory"]["type"] == "string"
    assert set(string.ascii_letters) & set(made["arms"]["anyOf"][1]["pattern"]) == {"a", "b", "s"}
