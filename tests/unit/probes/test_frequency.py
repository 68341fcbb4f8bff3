"""The frequency probe parses one number, and refuses anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.probes.frequency import parse, samples


def test_the_printed_frequency_is_read() -> None:
    assert parse('{"program":"core-frequency","frequency_hz":3.8e9,"windows":9}\n') == 3.8e9


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"frequency_hz": -1}',
        '{"frequency_hz": true}',
        '{"frequency_hz": "3"}',
        '{"frequency_hz": Infinity}',
        '{"frequency_hz": NaN}',
    ],
)
def test_what_is_no_frequency_is_not_taken_for_one(text: str) -> None:
    assert parse(text) is None


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    parse(text)


def test_a_side_that_could_not_be_measured_is_left_out() -> None:
    (only,) = samples(None, 3e9, "instance")
    assert (only.metric, only.value, only.side) == ("core_frequency_after_hz", 3e9, "instance")
