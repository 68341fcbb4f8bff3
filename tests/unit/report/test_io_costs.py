"""Costs of I/O in a report: layers that add up, idle power, a yearly sum, and projections."""

from __future__ import annotations

import msgspec
import pytest

from aferir.model.plan import (
    EnvironmentKind,
    EnvironmentSpec,
    Plan,
    ServerSpec,
    WorkloadSpec,
    once,
)
from aferir.model.record import Record, Sample, Side
from aferir.report import io_tables
from aferir.report.analyse import analyse
from aferir.report.charts.io_costs import io_charts
from aferir.report.formatting import NOTHING
from aferir.report.io_costs import cost_of, study
from aferir.report.model import IoCell, IoStudy
from aferir.report.write.html import html
from aferir.report.write.markdown import markdown
from aferir.statistics.io_cost import Uncertain

SERVER = ServerSpec(cores=2, peak_w=400.0, idle_fractions=(0.0, 0.7), results_per_day=10.0)
HERTZ = 2e9
DURATION = "duration_s"


def spec(kind: EnvironmentKind, cpus: int = 2) -> EnvironmentSpec:
    name = kind if cpus == 2 else f"{kind}[cpus={cpus}]"
    return EnvironmentSpec(name=name, kind=kind, cpus=cpus, memory_bytes=2**30)


def record(environment: EnvironmentSpec, *, system: float = 2.0, repetition: int = 1) -> Record:
    """10 s on two cores: 4 s of user time, 1 s waiting, a million operations."""
    seen: list[tuple[str, float, Side]] = [
        ("elapsed_s", 10.0, "environment"),
        (DURATION, 9.9, "program"),
        ("io_volume_bytes", 512e6, "program"),
        ("cpu_iowait_percent", 5.0, "host"),
        ("core_frequency_before_hz", HERTZ, "host"),
        ("core_frequency_after_hz", HERTZ, "host"),
        ("instance_user_s", 4.0, "host"),
        ("instance_system_s", system, "host"),
    ]
    if environment.kind == "vm":
        seen += [("guest_user_s", 3.0, "instance"), ("guest_system_s", 1.0, "instance")]
    return Record(
        cell=f"{environment.name}/w",
        group="w",
        environment=environment.name,
        workload="w",
        factors={} if environment.cpus == 2 else {"environment.cpus": environment.cpus},
        repetition=repetition,
        started_unix_ns=0,
        samples=tuple(Sample(metric, value, "s", side) for metric, value, side in seen),
    )


def plan(*environments: EnvironmentSpec) -> Plan:
    workload = WorkloadSpec(name="w", program="w", parameters={}, time_limit_s=60)
    return once(
        "io", environments=environments, workloads=[workload], time_limit_s=60, server=SERVER
    )


def test_the_split_closes_and_layers_add_up_to_all_busy_cycles() -> None:
    for kind in ("native", "vm"):
        run = cost_of(record(spec(kind)), spec(kind), SERVER)
        assert run is not None
        assert sum(run.states_s.values()) == pytest.approx(20.0)
        assert sum(run.layers.values()) == pytest.approx(run.cpio.value)
        assert run.cpio.value == pytest.approx(6.0 * HERTZ / 1e6)
        assert run.states_s["iowait"] == pytest.approx(1.0)


def test_a_virtual_machine_costs_what_neither_its_programs_nor_its_kernel_used() -> None:
    run = cost_of(record(spec("vm")), spec("vm"), SERVER)
    assert run is not None
    seconds = {layer: cycles * 1e6 / HERTZ for layer, cycles in run.layers.items()}
    assert seconds == pytest.approx({"user": 3.0, "os": 1.0, "vm": 2.0})


def guest_record(timed_s: float | None, *, claimed_s: float) -> Record:
    """The host saw 8 s beside the guest's account, of which its processors had 6."""
    seen: list[tuple[str, float, Side]] = [
        ("instance_guest_s", 3.0, "host"),
        ("instance_user_s", 0.5, "host"),
        ("instance_system_s", 0.5, "host"),
        ("instance_guest_s", 6.0, "instance"),
        ("instance_user_s", 1.0, "instance"),
        ("instance_system_s", 1.0, "instance"),
        ("guest_user_s", claimed_s / 2, "instance"),
        ("guest_system_s", claimed_s / 2, "instance"),
    ]
    if timed_s is not None:
        seen += [("timed_user_s", timed_s, "program"), ("timed_system_s", timed_s, "program")]
    others = {(metric, side) for metric, _, side in seen}
    kept = [s for s in record(spec("vm")).samples if (s.metric, s.side) not in others]
    added = [Sample(metric, value, "s", side) for metric, value, side in seen]
    return msgspec.structs.replace(record(spec("vm")), samples=(*kept, *added))


def layers_s(found: Record) -> dict[str, float]:
    run = cost_of(found, spec("vm"), SERVER)
    assert run is not None
    return {layer: cycles * 1e6 / HERTZ for layer, cycles in run.layers.items()}


@pytest.mark.parametrize("claimed_s", [6.0, 12.0])
def test_a_guest_that_counts_stolen_time_as_its_own_has_no_more_than_its_processors_had(
    claimed_s: float,
) -> None:
    """Half of the time beside the guest is the run's."""
    found = layers_s(guest_record(None, claimed_s=claimed_s))
    assert found == pytest.approx({"user": 1.5, "os": 1.5, "vm": 1.0})


def test_what_a_guest_does_not_count_while_its_processors_work_is_virtualisation() -> None:
    found = layers_s(guest_record(None, claimed_s=4.0))
    assert found == pytest.approx({"user": 1.0, "os": 1.0, "vm": 2.0})


def test_a_timed_region_of_a_guest_is_as_believable_as_the_guest() -> None:
    found = layers_s(guest_record(1.2, claimed_s=12.0))
    assert found == pytest.approx({"user": 0.6, "os": 0.6, "vm": 0.4})


def test_a_timed_region_has_no_more_than_the_host_saw_of_the_run() -> None:
    found = layers_s(guest_record(50.0, claimed_s=12.0))
    assert found == pytest.approx({"user": 1.5, "os": 1.5, "vm": 1.0})


def test_idle_power_makes_idle_time_cost() -> None:
    run = cost_of(record(spec("native")), spec("native"), SERVER)
    assert run is not None
    assert run.eio_j[0].value == pytest.approx(400 * 6 / 2 / 1e6)
    assert run.eio_j[1].value == pytest.approx(400 * (6 + 0.7 * 14) / 2 / 1e6)


def test_two_tenants_cost_both_of_theirs() -> None:
    two = msgspec.structs.replace(spec("native"), tenants=2)
    one, both = (
        cost_of(record(spec("native")), spec("native"), SERVER),
        cost_of(record(two), two, SERVER),
    )
    assert one is not None
    assert both is not None
    assert both.operations == 2 * one.operations
    assert both.cpio.value == pytest.approx(one.cpio.value)


def test_a_result_of_two_tenants_is_one_of_theirs() -> None:
    two = msgspec.structs.replace(spec("native"), tenants=2)
    run = cost_of(record(two), two, SERVER)
    assert run is not None
    assert run.result_j[0] == pytest.approx(1200.0)


def test_a_year_has_so_many_results_a_day() -> None:
    found = study(plan(spec("native")), [record(spec("native"))])
    assert found is not None
    [cell] = found.cells
    assert cell.result_j[0] == pytest.approx(1200.0)
    assert cell.year_kwh[0] == pytest.approx(1200.0 * 10 * 365 / 3.6e6)


@pytest.mark.parametrize("tenants", [1, 2])
def test_a_baseline_that_makes_results_all_year_draws_its_power_all_year(tenants: int) -> None:
    """Whatever it takes to make the data of each, which its energy leaves out, too."""
    always = msgspec.structs.replace(SERVER, idle_fractions=(1.0,), results_per_day=None)
    own = msgspec.structs.replace(spec("native"), tenants=tenants)
    whole = record(own)
    timed = (Sample("timed_user_s", 1.5, "s"), Sample("timed_system_s", 0.5, "s"))
    short = [msgspec.structs.replace(s, value=5.0) for s in whole.samples if s.metric == DURATION]
    others = [s for s in whole.samples if s.metric != DURATION]
    found = study(
        msgspec.structs.replace(plan(own), server=always),
        [msgspec.structs.replace(whole, samples=(*others, *short, *timed))],
    )
    assert found is not None
    assert found.cells[0].year_kwh[0] == pytest.approx(0.4 * 365 * 24)


def test_without_a_server_nothing_is_reckoned() -> None:
    bare = msgspec.structs.replace(plan(spec("native")), server=None)
    assert study(bare, [record(spec("native"))]) is None
    assert analyse(bare, [record(spec("native"))]).io is None


def test_what_moved_nothing_costs_nothing_per_operation() -> None:
    idle = record(spec("native"))
    samples = tuple(s for s in idle.samples if s.metric != "io_volume_bytes")
    still = msgspec.structs.replace(idle, samples=samples)
    assert cost_of(still, spec("native"), SERVER) is None


def test_growth_over_cores_is_projected_beside_the_linear_model() -> None:
    sizes = (1, 4, 8, 16)
    environments = [spec("native", cpus) for cpus in sizes]
    records = [
        record(one, system=1 + 0.1 * (one.cpus - 1) + 0.001 * k, repetition=k)
        for one in environments
        for k in range(1, 6)
    ]
    found = study(plan(*environments), records)
    assert found is not None
    [projection] = found.projections
    assert list(projection.measured) == list(sizes)
    assert projection.linear is not None
    assert projection.linear.growth == pytest.approx(1 + 0.1 * 999, rel=0.05)
    assert projection.usl is not None
    assert projection.usl.held_out_error == pytest.approx(0, abs=0.05)


def test_two_sizes_make_no_law() -> None:
    environments = [spec("native", 1), spec("native", 4)]
    found = study(plan(*environments), [record(one) for one in environments])
    assert found is not None
    [projection] = found.projections
    assert projection.usl is None
    assert "make no law" in projection.note


def test_page_and_markdown_show_costs_and_pictures() -> None:
    environments = (spec("native"), spec("vm"))
    evaluation = analyse(plan(*environments), [record(one) for one in environments])
    page = html(evaluation)
    for title in ("Time of all cores", "Cycles per operation by layer", "Energy per operation"):
        assert f"<h3>{title}</h3>" in page
    assert "kWh a year, idle 70 %" in page
    assert "What I/O costs" in markdown(evaluation)


def test_a_programs_own_account_of_its_timed_region_goes_before_the_whole_runs() -> None:
    whole = record(spec("vm"))
    timed = (Sample("timed_user_s", 1.5, "s"), Sample("timed_system_s", 0.5, "s"))
    found = msgspec.structs.replace(whole, samples=(*whole.samples, *timed))
    run = cost_of(found, spec("vm"), SERVER)
    assert run is not None
    seconds = {layer: cycles * 1e6 / HERTZ for layer, cycles in run.layers.items()}
    assert seconds == pytest.approx({"user": 1.5, "os": 0.5, "vm": 1.0})
    assert sum(run.states_s.values()) == pytest.approx(2 * 9.9)


def test_cycles_of_each_program_are_drawn_on_an_axis_of_their_own() -> None:
    """One operation of BLAST costs thousands of a checkpoint's: its bar would be the only one."""
    cheap, dear = record(spec("native")), record(spec("native"), system=20.0)
    other = msgspec.structs.replace(dear, cell="native/x", group="x", workload="x")
    workloads = [
        WorkloadSpec(name=name, program="w", parameters={}, time_limit_s=60) for name in ("w", "x")
    ]
    both = once(
        "io", environments=[spec("native")], workloads=workloads, time_limit_s=60, server=SERVER
    )
    found = study(both, [cheap, other])
    assert found is not None
    pictures = {chart.title: chart.draw() for chart in io_charts(found)}
    first, second = pictures["Cycles per operation by layer"]
    assert first.count("native: user") == second.count("native: user") == 1
    assert "operating system" in first


def test_averages_over_workloads_weigh_each_group_alike_and_add_to_the_baseline() -> None:
    native, guest = spec("native"), spec("vm")
    cells = [
        cell(native, "a", cycles=100.0, joules=1.0),
        cell(guest, "a", cycles=150.0, joules=3.0),
        cell(native, "b", cycles=1000.0, joules=1.0),
        cell(guest, "b", cycles=3500.0, joules=2.0),
        cell(guest, "c", cycles=9.0, joules=9.0),  # the baseline has no such group
    ]
    made = IoStudy(server=SERVER, cells=tuple(cells), results_per_day={})
    header = io_tables.average_header(made)
    rows = [dict(zip(header, row, strict=True)) for row in io_tables.averages(made, "native")]
    assert [(row["environment"], row["groups"]) for row in rows] == [("native", "2"), ("vm", "2")]
    assert rows[0]["cycles per operation"] == NOTHING
    assert rows[1]["cycles per operation"] == "+150 % \u00b1 100 %"
    assert rows[1]["J per operation, idle 70 %"] == "+150 % \u00b1 50 %"
    assert rows[1]["system"] == "30.0 %"


def test_one_group_has_no_average() -> None:
    cells = tuple(cell(spec(kind), "a", cycles=1.0, joules=1.0) for kind in ("native", "vm"))
    made = IoStudy(server=SERVER, cells=cells, results_per_day={})
    assert io_tables.averages(made, "native") == []


def cell(environment: EnvironmentSpec, group: str, *, cycles: float, joules: float) -> IoCell:
    states = {"user": 20.0, "system": 30.0, "virtual": 0.0, "idle": 45.0, "iowait": 5.0}
    return IoCell(
        cell=f"{environment.name}/{group}",
        group=group,
        environment=environment.name,
        emulated=False,
        n=3,
        operations=1e6,
        states_percent=states,
        layers={"user": cycles, "os": 0.0, "vm": 0.0},
        cpio=Uncertain(cycles, 1.0),
        eio_j=(Uncertain(joules, 0.1), Uncertain(joules, 0.1)),
        result_j=(),
    )
