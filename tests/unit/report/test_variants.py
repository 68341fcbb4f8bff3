"""Sentences of a report about the levels of an environment's own factors."""

from __future__ import annotations

from collections.abc import Mapping

from aferir.config import parse
from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    HostLimits,
    Parameter,
    Plan,
    StoppingRule,
    WorkloadSpec,
)
from aferir.model.record import Record, Sample, Warning
from aferir.registry import all_programs, kinds
from aferir.report.analyse import analyse
from aferir.report.model import EMULATED
from aferir.report.write.html import html
from tests.checkout import ROOT

TENANTS: tuple[Mapping[str, Parameter], ...] = (
    {"environment.tenants": 1},
    {"environment.tenants": 2},
)


def _marks(factors: Mapping[str, Parameter]) -> str:
    return ",".join(f"{name}={str(level).lower()}" for name, level in factors.items())


def plan(levels: tuple[Mapping[str, Parameter], ...] = TENANTS) -> Plan:
    cells = tuple(
        Cell(
            id=f"{family}[{_marks(factors)}]/{workload}",
            group=f"{workload}/{_marks(factors).replace(',', '/')}",
            environment=f"{family}[{_marks(factors)}]",
            workload=WorkloadSpec(name=workload, program="npb", parameters={}, time_limit_s=9),
            factors=dict(factors),
        )
        for workload in ("EP.W", "FT.A")
        for factors in levels
        for family in ("native", "container")
    )
    return Plan(
        name="variants",
        title="Variants",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=4, maximum=4, emulated=1),
        time_limit_s=60,
        environments=tuple(
            EnvironmentSpec(name=name, kind="native", cpus=1, memory_bytes=2**30)
            for name in dict.fromkeys(cell.environment for cell in cells)
        ),
        cells=cells,
    )


def records(made: Plan, cost: Mapping[str, float], *, emulated: str = "") -> list[Record]:
    """Durations of a round share its drift, and a cell is as many times as slow as `cost` says."""
    return [
        Record(
            cell=cell.id,
            group=cell.group,
            environment=cell.environment,
            workload=cell.workload.name,
            factors=cell.factors,
            repetition=repetition,
            warmup=False,
            started_unix_ns=1,
            samples=(Sample("duration_s", (1 + repetition) * cost.get(cell.id, 1.0), "s"),),
            warnings=(Warning(EMULATED, "slow"),)
            if emulated and cell.environment.startswith(emulated)
            else (),
        )
        for cell in made.cells
        for repetition in range(4)
    ]


def sentences(made: Plan, cost: Mapping[str, float], *, emulated: str = "") -> list[str]:
    return [s.text for s in analyse(made, records(made, cost, emulated=emulated)).sentences]


def test_two_levels_of_an_environments_factor_are_compared_round_by_round() -> None:
    cost = {"container[environment.tenants=2]/FT.A": 1.25}
    native, container, *_ = sentences(plan(), cost)
    assert native.startswith("native, duration with tenants=2 against tenants=1: 0.0 % [0.0, 0.0]")
    assert container == (
        "container, duration with tenants=2 against tenants=1: 0.0 % [0.0, 0.0] on EP.W (n = 4) "
        "and +25 % [+25, +25] on FT.A (n = 4)."
    )


def test_other_factors_are_held_and_named() -> None:
    levels: tuple[Mapping[str, Parameter], ...] = tuple(
        {"environment.huge_pages": huge, "environment.merge_pages": merge}
        for huge in (True, False)
        for merge in (False, True)
    )
    texts = [text for text in sentences(plan(levels), {}) if text.startswith("container, ")]
    assert [text.partition(":")[0] for text in texts] == [
        "container, duration with huge_pages=false against huge_pages=true",
        "container, duration with merge_pages=true against merge_pages=false",
    ]
    assert "on EP.W/merge_pages=false (n = 4)" in texts[0]
    assert "on FT.A/huge_pages=false (n = 4)" in texts[1]


def test_a_size_is_named_as_in_the_file() -> None:
    content = (ROOT / "experiments/instance-size-short.toml").read_bytes()
    host = HostLimits(cpus=(0, 1), memory_bytes=4 * 2**30)
    texts = sentences(parse(content, host, all_programs(), kinds()), {})
    assert any("duration with memory=512MiB against memory=256MiB" in text for text in texts)


def test_levels_that_a_curve_shows_are_left_to_it() -> None:
    levels = tuple({"environment.tenants": number} for number in (1, 2, 3))
    assert not any("against" in text for text in sentences(plan(levels), {}))


def test_an_emulated_environments_levels_come_last_and_say_so() -> None:
    texts = sentences(plan(), {}, emulated="container")
    assert texts[0].startswith("native, duration with tenants=2")
    assert any(t.startswith("container (emulated), duration with tenants=2") for t in texts[1:])


def test_the_page_has_a_colour_for_the_family() -> None:
    made = plan()
    assert "tenants=2 against tenants=1" in html(analyse(made, records(made, {})))
