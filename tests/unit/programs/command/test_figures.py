"""Figures of any program: their notation, and finding them in its output."""

from __future__ import annotations

import pytest

from aferir.errors import ProgramError
from aferir.programs.command import figures
from aferir.programs.command.figures import FigureSpec, read_figures, read_spec


def value(spec: str, text: str) -> float:
    return read_figures((read_spec(spec),), {"": text})[0].value


def test_a_figure_has_a_unit_by_its_name_and_a_direction_where_it_is_said() -> None:
    assert read_spec("rate_rps(higher)=regex:([0-9.]+) req") == FigureSpec(
        name="rate_rps", kind="regex", where="([0-9.]+) req", unit="1/s", better="higher"
    )
    assert read_spec("cost(EUR, lower)=json-last@out.json:a.b").file == "out.json"
    assert read_spec("cost(EUR, lower)=json-last@out.json:a.b").which == "last"
    assert read_spec("cost(EUR, lower)=last").unit == "EUR"


@pytest.mark.parametrize(
    "text",
    [
        *("rate", "Rate=last", "rate=guess:x", "rate=regex", "rate=last:x", "rate=regex:(a)(b)"),
        *("rate=regex:(", "=last", "rate=json:"),
    ],
)
def test_what_is_no_figure_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"figure|expression|groups"):
        read_spec(text)


@pytest.mark.parametrize(
    ("spec", "text", "expected"),
    [
        ("x=regex:took ([0-9.]+) s", "it took 1.5 s\n", 1.5),
        (r"x=regex:^\d+$", "a\n42\nb", 42.0),
        ("x=regex-first:[0-9]+", "1 2 3", 1.0),
        ("x=regex-last:[0-9]+", "1 2 3", 3.0),
        ("x=json:a.b[1].c", '{"a": {"b": [0, {"c": 7}]}}', 7.0),
        ("x=json:$.a", 'log\n{"a": "2.5"}\n', 2.5),
        ("x=json-last:a", '{"a": 1}\n{"a": 2}\n', 2.0),
        ("x=csv:ops", "name, ops\nread, 1e3\n", 1000.0),
        ("x=csv-last:ops", "ops\n1\n2\n", 2.0),
        ("x=last", "first 1\ntotal: 3 of -4.5e-2\n", -0.045),
    ],
)
def test_a_figure_is_found(spec: str, text: str, expected: float) -> None:
    assert value(spec, text) == expected


@pytest.mark.parametrize(
    ("spec", "text", "said"),
    [
        ("x=regex:[0-9]+", "none here", "not in its output: none here"),
        ("x=regex:[0-9]+", "", "it is empty"),
        ("x=regex:[0-9]+", "1 2 3 4 5", "5 times: 1, 2, 3, 4 ..."),
        ("x=json:a", '{"b": 1}', "not in its output"),
        ("x=json:a", '{"a": [1]}', "no number"),
        ("x=json:a", '{"a": true}', "no number"),
        ("x=csv:ops", "ops\n1\n2\n", "2 times"),
        ("x=regex:[a-z]+", "inf", "no number"),
        ("x=last", "\x00\x01 no", "not in its output"),
    ],
)
def test_a_figure_that_is_missing_several_or_none_is_told(spec: str, text: str, said: str) -> None:
    with pytest.raises(ProgramError) as error:
        value(spec, text)
    assert said in error.value.message
    assert error.value.remedy


def test_a_table_may_have_any_ends_of_lines_and_a_field_that_is_too_long_is_none() -> None:
    assert value("x=csv:ops", "name,ops\rread,7\r") == 7.0
    with pytest.raises(ProgramError, match="not in its output"):
        value("x=csv:ops", f"{'x' * 200_000}\n1\n")


def test_a_file_that_was_not_written_is_named() -> None:
    with pytest.raises(ProgramError, match="file `out"):
        read_figures((read_spec("x=csv@out.csv:ops"),), {"": "", "out.csv": None})


def test_a_search_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_SEARCH_S", 0.01)
    with pytest.raises(ProgramError, match="in too many ways") as error:
        value("x=regex:^(a+)+$b", "a" * 22)
    assert "`x`" in error.value.message
    assert error.value.remedy
