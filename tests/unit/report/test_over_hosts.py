"""Ratios over hosts where the host is a factor."""

from __future__ import annotations

import pytest

from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.provenance import Provenance
from aferir.model.record import Record, Sample
from aferir.report.analyse import analyse
from aferir.report.blocks import Subject, Table
from aferir.report.sections.over_hosts import section

FACTOR = "environment.host"


def cell(environment: str, host: str) -> Cell:
    group = f"ep/{FACTOR}={host}"
    name = f"{environment}[host={host}]"
    return Cell(
        id=f"{name}/{group}",
        group=group,
        environment=name,
        workload=WorkloadSpec(name="ep", program="npb", parameters={}, time_limit_s=9),
        factors={FACTOR: host},
    )


def subject(costs: dict[str, float], models: dict[str, str]) -> Subject:
    """A container that costs so much on each host, of so many processors."""
    cells = [cell(name, host) for host in costs for name in ("native", "lxc")]
    names = [one.environment for one in cells]
    specs = [EnvironmentSpec(name=n, kind="native", cpus=1, memory_bytes=1) for n in names]
    plan = Plan(
        name="x",
        title="x",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=3, emulated=1),
        time_limit_s=60,
        environments=tuple(specs),
        cells=tuple(cells),
    )
    records = [
        Record(
            cell=one.id,
            group=one.group,
            environment=one.environment,
            workload="ep",
            factors=one.factors,
            repetition=turn,
            started_unix_ns=1,
            samples=(Sample("duration_s", seconds, "s"),),
        )
        for one in cells
        for turn in range(5)
        for seconds in [
            (1.0 + 0.01 * turn)
            * (costs[str(one.factors[FACTOR])] if one.environment.startswith("lxc") else 1.0)
        ]
    ]
    hosts = {name: {"machine": {"cpu_model": model, "cpus": 8}} for name, model in models.items()}
    told = Provenance(version="1", facts={"hosts": hosts}, commands={})
    return Subject(evaluation=analyse(plan, records), provenance=told)


def rows(of: Subject) -> list[list[str]]:
    shown = section(of)
    assert shown is not None
    table = next(block for block in shown.blocks if isinstance(block, Table))
    return [[str(getattr(field, "environment", field)) for field in row] for row in table.rows]


def test_a_ratio_over_hosts_counts_how_much_they_differ() -> None:
    costs = {"a": 1.10, "b": 1.12, "c": 1.14}
    (row,) = rows(subject(costs, dict.fromkeys(costs, "Xeon")))
    assert row[:3] == ["ep", "lxc", "3"]
    assert row[3].startswith("+12 % [+7, +17]")
    assert row[4] == "1.8 %"
    assert row[5:] == ["+10 % on a", "+14 % on c"]


def test_hosts_with_different_processors_are_not_pooled() -> None:
    found = rows(
        subject({"a": 1.1, "b": 1.2, "old": 1.9}, {"a": "Xeon", "b": "Xeon", "old": "Opteron"})
    )
    assert [row[2] for row in found] == ["2 (Xeon, 8 CPUs)", "1 (Opteron, 8 CPUs)"]
    assert found[1][3] == "+90 %"


@pytest.mark.parametrize("hosts", [("a",), ()], ids=["one", "none"])
def test_without_several_hosts_there_is_no_section(hosts: tuple[str, ...]) -> None:
    assert section(subject(dict.fromkeys(hosts, 1.1), {})) is None
