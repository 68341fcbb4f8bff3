"""The two studies of clocks under MPI: commands, and parsers that survive any text."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.clock.mpi_program import ARMS, MPI_CLOCK
from aferir.config import load
from aferir.errors import AferirError, MissingError, ProgramError, UnverifiedError, UsageError
from aferir.model.plan import HostLimits, Parameter
from aferir.model.record import Sample, Series
from aferir.programs import mpi
from aferir.programs.ocean import OCEAN, OTHERS, REFERENCE
from aferir.registry import all_programs, kinds
from tests.unit.programs.taking import command_of, memory_of, wrong_with

JOB: dict[str, object] = {
    "program": "aferir-mpi-clock",
    "processes": 2,
    "init_s": 0.5,
    "offsets_s": [0, 2e-9],
    "orders": [{"messages": 481, "stamps": 100048, "violations": 0}],
    "verified": True,
}
OWN = JOB | {
    "offsets_s": [0, -3e-4],
    "orders": [{"messages": 100, "stamps": 1000, "violations": 50}],
}
REPORTS = (
    'aferir-mpi: {"rank": 0, "added_ns": 50000, "exchanges": 0, "sync_ns": 9}\n'
    'aferir-mpi: {"rank": 1, "added_ns": 70000, "exchanges": 14, "sync_ns": 300000}\n'
    'aferir-mpi: {"rank": 1, "strayed_ns": 3}\n'
)


def _printed(**jobs: str) -> str:
    shown = {
        "own": json.dumps(OWN),
        "rgap": REPORTS + json.dumps(JOB),
        "rgap-hosts": json.dumps(JOB | {"offsets_s": [0, 4e-6]}) + "\n" + REPORTS,
    } | {name.replace("_", "-"): text for name, text in jobs.items()}
    return "\n".join(f"\narm {arm}\n{shown[arm]}" for arm in ARMS if arm in shown)


def _arm(name: str, durations: list[float], steps: list[float]) -> dict[str, object]:
    return {
        "name": name,
        "duration_s": durations,
        "steps_s": steps,
        **{
            key: [0.25] * len(durations)
            for key in (
                *("sums_share", "halos_share", "clock_error_s", "steps_error_s"),
                *("helpers_cpu_s", "wake_ups", "messages"),
            )
        },
    }


RUN: dict[str, object] = {
    "program": "ocean",
    "processes": 2,
    "global_time": True,
    "iterations": 170.5,
    "verified": True,
    "arms": [
        _arm("rgap", [1.0, 2.0], [0.5, 0.5, 1.0, 1.0]),
        _arm("control", [1.0, 2.5], [0.5, 0.5, 1.0, 1.5]),
        _arm("ntp-like", [1.5, 2.25], [0.5, 1.0, 1.0, 1.25]),
        _arm("noise", [3.0, 3.0], [1.5, 1.5, 1.5, 1.5]),
    ],
}


def _values(figures: object) -> dict[str, float]:
    assert isinstance(figures, tuple)
    return {figure.metric: figure.value for figure in figures if isinstance(figure, Sample)}


def test_each_jobs_clock_is_told_apart() -> None:
    values = _values(MPI_CLOCK.parse(_printed()))
    assert values["duration_s"] == 0.5
    assert values["added_to_init_s"] == pytest.approx(70e-6)
    assert values["error_s"] == pytest.approx(2e-9)
    assert values["own_error_s"] == pytest.approx(3e-4)
    assert values["hosts_error_s"] == pytest.approx(4e-6)
    assert values["exchanges"] == 14
    assert values["sync_s"] == pytest.approx(3e-4)
    assert values["own_out_of_order"] == 0.5
    assert values["rgap_out_of_order"] == 0


def test_a_job_that_is_missing_broken_or_unverified_gives_no_figures() -> None:
    for text in ("", "arm own", _printed(rgap="mpirun: no slots"), _printed(rgap=REPORTS)):
        with pytest.raises(ProgramError):
            MPI_CLOCK.parse(text)
    with pytest.raises(ProgramError, match="clock of another"):
        MPI_CLOCK.parse(_printed(rgap=json.dumps(JOB)))
    with pytest.raises(ProgramError, match="clock of another"):
        MPI_CLOCK.parse(_printed(own=REPORTS + json.dumps(OWN)))
    bad = json.dumps(JOB | {"verified": False, "error": "messages were lost"})
    with pytest.raises(UnverifiedError, match="messages were lost"):
        MPI_CLOCK.parse(_printed(rgap=bad))


def test_clocks_of_several_hosts_have_no_error() -> None:
    jobs = _printed().partition("arm rgap-hosts")[0]
    with pytest.raises(ProgramError, match="only own, rgap ended"):
        MPI_CLOCK.parse(jobs)
    values = _values(MPI_CLOCK.parse("hosts a b\n" + jobs))
    assert {"error_bound_s", "own_out_of_order", "rgap_out_of_order"} <= values.keys()
    assert not values.keys() & {"error_s", "own_error_s", "hosts_error_s"}


def test_the_three_jobs_are_one_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = mpi.Launcher("/usr/bin/mpirun.mpich", "mpich")
    (tmp_path / "aferir-mpi-clock-mpich").touch(mode=0o755)
    monkeypatch.setenv("AFERIR_KERNELS", str(tmp_path))
    monkeypatch.setattr(mpi, "find_launcher", lambda _: launcher)
    monkeypatch.setattr(mpi, "find_library", lambda _: Path("/lib/library.so"))
    command = command_of(MPI_CLOCK, {"processes": 4, "mpi": "mpich", "stamps": 1000})
    jobs = command.arguments[1].splitlines()
    assert [job.split(";")[1].strip() for job in jobs] == [f"echo arm {arm}" for arm in ARMS]
    assert [("library.so" in job, "AFERIR_MPI_JOB=$$" in job) for job in jobs] == [
        *((False, False), (True, False), (True, True))
    ]
    ends = tuple(f"aferir-mpi-clock-mpich{quote} 1000 2>&1" for quote in ("", "'"))
    assert all("-n 4 " in job and job.endswith(ends) for job in jobs)


def test_arms_are_compared_round_by_round() -> None:
    values = _values(OCEAN.parse(json.dumps(RUN)))
    assert values["duration_s"] == 1.5
    assert values["ntp_like_difference_s"] == 0.375  # of 0.5 and 0.25
    assert values["noise_difference_s"] == 1.5
    assert values["control_difference_s"] == 0.25
    assert values["noise_step_sd_ratio"] == 0
    assert values["iterations"] == 170.5


def test_each_arm_has_a_curve_of_its_steps() -> None:
    series = [figure for figure in OCEAN.parse(json.dumps(RUN)) if isinstance(figure, Series)]
    steps = [one for one in series if one.metric == "step_time_s"]
    assert [one.label for one in steps] == [REFERENCE, *OTHERS]
    assert list(steps[0].at) == [1, 2, 1, 2]
    durations = next(one for one in series if one.metric == "arm_duration_s")
    assert list(durations.at[:4]) == ["rgap", "rgap", "control", "control"]


@pytest.mark.parametrize(
    "change",
    [
        {"arms": []},
        {"arms": [_arm("rgap", [1.0], [1.0, 2.0])]},
        {"arms": [_arm(name, [1.0], [1.0, 2.0, 3.0]) for name in ("rgap", *OTHERS)][:3]},
        {"arms": [_arm(name, [0.0], [1.0, 2.0]) for name in ("rgap", *OTHERS)]},
        {"arms": [_arm(name, [float("nan")], [1.0, 2.0]) for name in ("rgap", *OTHERS)]},
        {"arms": [_arm(name, [1.0, 1.0], [1.0, 2.0, 3.0]) for name in ("rgap", *OTHERS)]},
        {"arms": [_arm(name, [], []) for name in ("rgap", *OTHERS)]},
        {"iterations": "many"},
    ],
)
def test_unreadable_figures_of_the_ocean_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ProgramError):
        OCEAN.parse(json.dumps(RUN | change))


def test_without_global_time_or_verification_there_are_no_figures() -> None:
    with pytest.raises(MissingError, match="one time"):
        OCEAN.parse(json.dumps(RUN | {"global_time": False}))
    with pytest.raises(UnverifiedError, match="order"):
        OCEAN.parse(json.dumps(RUN | {"verified": False, "error": "order 1"}))


@settings(deadline=None)
@given(
    changes=st.dictionaries(
        st.sampled_from(sorted(RUN)),
        st.none() | st.floats() | st.text() | st.lists(st.floats() | st.text()),
    )
)
def test_any_object_gives_figures_or_an_error_of_ours(changes: dict[str, object]) -> None:
    for parse, text in (
        (OCEAN.parse, json.dumps(RUN | changes)),
        (MPI_CLOCK.parse, _printed(rgap=REPORTS + json.dumps(JOB | changes))),
    ):
        with contextlib.suppress(AferirError):
            assert parse(text)


def test_parameters_are_checked() -> None:
    assert wrong_with(OCEAN, {}) == wrong_with(MPI_CLOCK, {}) == []
    assert wrong_with(OCEAN, {"processes": 48, "scale": 1, "solver": "pcg", "mpi": "mpich"}) == []
    wrong: dict[str, Parameter] = {"scale": 3, "solver": "sor", "processes": 0, "rounds": True}
    for name, value in wrong.items():
        assert wrong_with(OCEAN, {name: value})[0].startswith(f"{name}: ")
    assert wrong_with(MPI_CLOCK, {"stamps": 0})[0].startswith("stamps: ")


def test_the_published_grid_needs_its_memory() -> None:
    whole = memory_of(OCEAN, {"scale": 1, "processes": 1})
    assert 12e9 < whole < 13e9
    assert memory_of(OCEAN, {"scale": 2, "processes": 1}) < whole / 3


EXPERIMENT = """
[experiment]
name = "x"
baseline = "box"
{oversubscribe}
[[environment]]
name = "box"
kind = "{kind}"
cpus = 2
[[workload]]
name = "sea"
program = "ocean"
processes = {processes}
"""


@pytest.mark.parametrize(
    ("kind", "processes", "oversubscribe", "wrong"),
    [
        ("native", 2, "", ""),
        ("native", 4, "oversubscribe = true", ""),
        ("native", 4, "", "asks for 4 processes"),
        ("container", 2, "", "is a container, where `ocean` cannot run"),
    ],
)
def test_only_what_can_run_is_planned(
    tmp_path: Path, kind: str, processes: int, oversubscribe: str, wrong: str
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(EXPERIMENT.format(kind=kind, processes=processes, oversubscribe=oversubscribe))
    host = HostLimits(cpus=(0, 1), memory_bytes=2**34)
    if not wrong:
        assert load(path, host, all_programs(), kinds()).cells
        return
    with pytest.raises(UsageError, match=wrong):
        load(path, host, all_programs(), kinds())
