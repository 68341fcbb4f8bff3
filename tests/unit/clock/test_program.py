"""The studies of clocks: parameters, commands, and parsing of the output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.clock.program import CLOCK, STUDIES
from aferir.errors import ProgramError, UnverifiedError
from aferir.model.plan import Parameter
from aferir.model.record import Sample, Series, Warning
from aferir.programs.base import read_parameters
from tests.unit.programs.taking import command_of, wrong_with

LINE: dict[str, object] = {
    "program": "clock-study",
    "study": "stability",
    "verified": True,
    "duration_s": 1.5,
    "samples": [{"metric": "rate_difference", "unit": "1", "value": 5e-8}],
    "series": [
        {
            "metric": "violations",
            "unit": "1",
            "label": "",
            "along": "clock",
            "along_unit": "",
            "at": ["rdtsc", "rvec"],
            "values": [3, 0],
        },
        {
            "metric": "difference_s",
            "unit": "s",
            "label": "CLOCK_REALTIME",
            "along": "time_s",
            "along_unit": "s",
            "at": [0, 0.5],
            "values": [0, 1e-9],
        },
    ],
    "doubts": [{"code": "no-external-reference", "message": "none", "advice": "attach one"}],
}


def test_samples_series_and_doubts_are_read() -> None:
    figures = CLOCK.parse(json.dumps(LINE))
    assert figures[:2] == (Sample("duration_s", 1.5, "s"), Sample("rate_difference", 5e-8, "1"))
    assert isinstance(figures[2], Series)
    assert figures[2].at == ("rdtsc", "rvec")
    assert isinstance(figures[3], Series)
    assert figures[3].along_unit == "s"
    assert figures[4] == Warning("no-external-reference", "none", "attach one")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("samples", [{"metric": "x_s", "unit": "s", "value": None}]),
        ("samples", [{"unit": "s", "value": 1}]),
        ("samples", None),
        ("series", [{"metric": "x_s", "unit": "s", "along": "clock", "at": ["a"], "values": []}]),
        ("doubts", "many"),
        ("duration_s", -1),
    ],
)
def test_a_figure_that_is_none_is_refused(key: str, value: object) -> None:
    with pytest.raises(ProgramError):
        CLOCK.parse(json.dumps(LINE | {key: value}))


def test_wrong_arithmetic_is_not_a_result() -> None:
    with pytest.raises(UnverifiedError, match="the sums"):
        CLOCK.parse(json.dumps(LINE | {"verified": False, "error": "the sums are wrong"}))


@given(changes=st.dictionaries(st.sampled_from(sorted(LINE)), st.none() | st.lists(st.integers())))
def test_any_damage_is_a_program_error_or_nothing(changes: dict[str, object]) -> None:
    try:
        CLOCK.parse(json.dumps(LINE | changes))
    except (ProgramError, UnverifiedError):
        return


def test_each_study_takes_its_own_parameters_only() -> None:
    assert wrong_with(CLOCK, {"study": "ecp", "movement": "migrated", "runs": 10}) == []
    assert wrong_with(CLOCK, {"study": "ntp", "interval_s": 600, "rate_ppm": -17.5}) == []
    assert "did you mean `noise`" in wrong_with(CLOCK, {"study": "nois"})[0]
    assert (
        "did you mean `handed-over`" in wrong_with(CLOCK, {"study": "ecp", "movement": "handed"})[0]
    )
    assert "movement" in wrong_with(CLOCK, {"study": "cost", "movement": "pinned"})[0]
    assert wrong_with(CLOCK, {}) == [
        f"study: is missing; choose one of {', '.join(f'`{study}`' for study in STUDIES)}"
    ]
    for wrong in (True, 0, 1.5, "many"):
        assert wrong_with(CLOCK, {"study": "ecp", "runs": wrong})
    for wrong in (float("nan"), -1.0, True, "often"):
        assert wrong_with(CLOCK, {"study": "ntp", "interval_s": wrong})


def test_planted_work_has_to_fit_into_its_period() -> None:
    plant: dict[str, Parameter] = {"study": "noise", "noise_period_s": 0.01}
    assert wrong_with(CLOCK, {**plant, "noise_busy_s": 0.002}) == []
    assert "plant more seldom" in wrong_with(CLOCK, {**plant, "noise_busy_s": 0.01})[0]
    assert wrong_with(CLOCK, {"study": "noise", "noise_period_s": 0.0001})


def test_a_change_of_rate_that_could_not_be_seen_is_refused() -> None:
    assert wrong_with(CLOCK, {"study": "rate", "ratio": 2, "interval_s": 1}) == []
    assert wrong_with(CLOCK, {"study": "rate", "ratio": 1.01})[0].startswith("ratio: ")
    assert wrong_with(CLOCK, {"study": "rate", "interval_s": 0})[0].startswith("interval_s: ")


def test_the_command_names_the_study_and_what_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    (tmp_path / "clock-study").touch(mode=0o755)
    made = command_of(CLOCK, {"study": "ntp", "interval_s": 0.1, "server": "own"})
    assert made.arguments == ("ntp", "--interval-s", "0.1", "--server", "own")
    assert command_of(CLOCK, {"study": "cost"}).arguments == ("cost",)


def test_no_core_of_the_host_is_taken_off_line() -> None:
    plugged, usual = ({"study": "ecp", "movement": movement} for movement in ("plugged", "pinned"))
    assert CLOCK.kinds_of(read_parameters(CLOCK, plugged)) == ("vm",)
    assert CLOCK.kinds_of(read_parameters(CLOCK, usual)) == CLOCK.kinds


def looked(exchanges: float, most: float, least_s: float) -> str:
    figures = {"exchanges": exchanges, "exchanges_most": most, "round_trip_least_s": least_s}
    curve = {"metric": "look_exchanges", "unit": "1", "label": "", "along": "look", "at": [1]}
    line = LINE | {
        "samples": [{"metric": n, "unit": "1", "value": v} for n, v in figures.items()],
        "series": [curve | {"along_unit": "", "values": [most]}],
    }
    return json.dumps(line)


def test_clients_on_several_hosts_are_put_together() -> None:
    figures = CLOCK.parse(f"client b\n{looked(30, 40, 2e-5)}\nclient c\n{looked(50, 90, 1e-5)}\n")
    values = {one.metric: one.value for one in figures if isinstance(one, Sample)}
    assert (values["duration_s"], values["exchanges"]) == (1.5, 40)
    assert (values["exchanges_most"], values["round_trip_least_s"]) == (90, 1e-5)
    curves = [(one.label, one.values) for one in figures if isinstance(one, Series)]
    assert curves == [("b", (40,)), ("c", (90,))]
    with pytest.raises(ProgramError):
        CLOCK.parse(f"client b\n{looked(30, 40, 2e-5)}\nclient c\n")


def test_real_clocks_are_given_no_errors() -> None:
    planted = read_parameters(CLOCK, {"study": "rule", "offset_s": 0.1})
    assert [one.key for one in CLOCK.over_hosts(planted)] == ["offset_s"]
    assert not CLOCK.over_hosts(read_parameters(CLOCK, {"study": "rule", "clients": 2}))
