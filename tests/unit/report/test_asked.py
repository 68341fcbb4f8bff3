"""Sentences about figures with a better direction, and about warnings."""

from __future__ import annotations

from aferir.model.plan import EnvironmentSpec, Plan, WorkloadSpec, once
from aferir.model.record import Record, Sample, Warning
from aferir.report.asked import doubt_lines, figure_lines

PLAN: Plan = once(
    "it",
    environments=[
        EnvironmentSpec(name=name, kind="native", cpus=1, memory_bytes=1) for name in ("a", "b")
    ],
    workloads=[WorkloadSpec(name="w", program="command", parameters={}, time_limit_s=1)],
    time_limit_s=1,
)


def record(environment: str, n: int, rate: float, *codes: str) -> Record:
    return Record(
        cell=f"{environment}/w",
        group="w",
        environment=environment,
        workload="w",
        repetition=n,
        started_unix_ns=0,
        samples=(
            Sample("rate_rps", rate, "1/s", better="higher"),
            Sample("duration_s", 1.0, "s"),
        ),
        warnings=tuple(Warning(code, f"said {code}", "do it") for code in codes),
    )


def test_a_figure_with_a_direction_is_said_for_each_environment() -> None:
    records = [record("a", n, 100 + n) for n in range(9)]
    records += [record("b", n, (100 + n) / 2) for n in range(9)]
    [line] = figure_lines(PLAN, records)
    assert line.startswith("rate_rps of w (higher is better): a 104")
    assert "; b 52" in line
    assert "0.500 times" in line


def test_one_repetition_has_no_change() -> None:
    [line] = figure_lines(PLAN, [record("a", 0, 1.0), record("b", 0, 2.0)])
    assert "[" not in line


def test_a_doubt_is_said_once_with_where_it_came_up() -> None:
    records = [record("a", 0, 1, "x", "other"), record("a", 1, 1, "x"), record("b", 0, 1, "x")]
    assert doubt_lines(records, ("x",)) == ["a, b: said x; do it."]
