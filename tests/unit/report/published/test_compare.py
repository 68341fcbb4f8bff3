from __future__ import annotations

import msgspec
import pytest

from aferir.model.record import GUESTS_EMULATED, Warning
from aferir.report.model import CountedWarning, Evaluation
from aferir.report.published.compare import beside, load
from aferir.report.published.model import Beside, Condition, Known, Ours, Row, Table
from aferir.report.published.tables import TABLES
from aferir.statistics.estimates import Estimate
from tests.checkout import ROOT
from tests.unit.report.published import made, made_clusters
from tests.unit.report.published.runs import Made, evaluated, native

REFERENCE = ROOT / "reference"
KNOWN = load(REFERENCE)


def table(name: str, run: Evaluation, *, processors: int = 2) -> dict[str, Beside]:
    found = beside(KNOWN, run, processors=processors)
    rows = next((one.rows for one in found if one.name == name), ())
    return {row.what: row for row in rows}


def test_every_file_is_declared_once_and_every_row_is_read() -> None:
    files = {path.stem: path for path in REFERENCE.glob("*.csv")}
    assert sorted(one.name for one in TABLES) == sorted(files)
    assert {*made.RUNS} == {*files}, "each has a made-up run below"
    for one in KNOWN:
        lines = files[one.table.name].read_text(encoding="utf-8").splitlines()[1:]
        assert len(one.rows) >= len(lines)
        assert all(row.answer and row.source for row in one.rows)


@pytest.mark.parametrize("name", sorted(made.RUNS))
def test_each_row_is_beside_a_figure_or_has_its_reason(name: str) -> None:
    found = table(name, made.RUNS[name])
    rows = next(one.rows for one in KNOWN if one.table.name == name)
    assert set(found) == {row.what for row in rows}
    for row in rows:
        shown = found[row.what]
        if row.find is not None:
            assert shown.ours, f"{row.what}: {shown.verdict}: {shown.why}"
        assert shown.ours or shown.why


def test_what_mello_measured_is_in_no_report_of_anything_else() -> None:
    for name in ("clock_read_cost", "vod_streams_per_host", "io_energy"):
        names = {one.name for one in beside(KNOWN, made.RUNS[name], processors=2)}
        assert not names & {"virtual_cluster", "nic_aggregation", "distribution_effect"}


def test_a_run_that_has_nothing_published_has_no_table() -> None:
    run = evaluated(Made(spec=native(), program="memory"))
    assert beside(KNOWN, run) == ()
    (guest,) = made.allocations().allocations
    box = msgspec.structs.replace(guest, environment="box", kind="container")
    run = msgspec.structs.replace(run, allocations=(box,))
    assert beside(KNOWN, run) == (), "the published ones are of guests"
    assert load(None) == load(REFERENCE / "nowhere") == ()


def test_a_ratio_has_an_interval_from_both_sides() -> None:
    """RVEC at 42 ns against 420 ns: a tenth, with the seven repetitions' scatter."""
    row = table("clock_read_cost", made.read_costs())[
        "one reading of RVEC, added to a loop of 5,000 additions"
    ]
    assert row.verdict == "comparable"
    (one,) = row.ours
    assert one.value == pytest.approx(42e-9)
    assert one.relative
    assert one.difference == pytest.approx(0.1)
    assert one.difference_interval is not None
    assert one.difference_interval.low < 0.1 < one.difference_interval.high


def test_the_clocks_are_named_as_in_the_study() -> None:
    source = (ROOT / "native/clock/study/arms.h").read_text(encoding="utf-8")
    for row in next(one.rows for one in KNOWN if one.table.name == "clock_read_cost"):
        assert f'"{row.answer.split("`")[-2]}"' in source


def test_a_figure_that_is_not_positive_is_subtracted() -> None:
    """A reading that costs nothing beside a loop, or less, as it does on new processors."""
    ours = Ours(
        environment="e", group="g", emulated=False, figure=Estimate(value=-1.0), conditions={}
    )
    row = Row(what="w", value=2.0, unit="s", source="s", answer="a", find=lambda _: [ours])
    declared = Table(name="t", title="T", differs="", rows=lambda _: [row])
    (found,) = beside([Known(declared, (row,))], made.read_costs())
    (one,) = found.rows[0].ours
    assert (one.relative, one.difference) == (False, -3.0)


def test_power_is_comparable_by_a_ups_and_at_the_published_use_of_the_cpus() -> None:
    """300 W beside the published 285.467 W; CPUs that are 30 % used are not idle."""
    busy, idle = table("server_power", made.powers()).values()
    assert busy.verdict == "comparable"
    assert busy.ours[0].difference == pytest.approx(300 / 285.467)
    assert (idle.verdict, idle.why) == ("not comparable", "CPUs 30 % used here, idle there")
    modelled, _ = table("server_power", made.powers("model:server.json")).values()
    assert modelled.why == "meter model here, UPS there"
    assert modelled.ours[0].value == pytest.approx(300)


def test_percent_are_compared_in_points() -> None:
    """A cluster that reaches 80 % of the host beside the published 73.7 %."""
    row = table("virtual_cluster", made_clusters.clusters())[
        "PARPAC Gflop/s, 8 processes: virtual cluster over real cluster"
    ]
    (one,) = row.ours
    assert one.group == "lattice-boltzmann/processes=2", "one process for each processor"
    assert not one.relative
    assert one.difference == pytest.approx(80 - 73.7, abs=0.1)


def test_a_loss_is_against_the_cluster_that_is_alone() -> None:
    rows = table("virtual_cluster_concurrency", made_clusters.concurrent())
    two = rows["2 clusters, 4 processes each: loss"]
    assert [one.value for one in two.ours] == [pytest.approx(20.0)], "1.25 times as long"
    assert two.ours[0].difference == pytest.approx(4.0)
    words = [row for what, row in rows.items() if "user 2 4.5 %" in what]
    assert [row.verdict for row in words] == ["not comparable"]
    assert words[0].why == "no figure was published"


def test_a_condition_that_differs_is_named_and_nothing_is_claimed() -> None:
    row = table("ocean_rgap_vs_ntp", made.ocean(scale=32))[
        "4 processes, what NTP adds (19.172 s of 966.708 s)"
    ]
    assert row.verdict == "not comparable"
    assert row.why == "scale 32 here, 1 there"
    assert row.ours[0].value == pytest.approx(1.0)
    assert row.ours[0].difference is None


def test_what_was_not_run_is_not_measured() -> None:
    """Loads of another size have no figure of the published ones."""
    row = table("vod_blocking", made.movie(clients=50))[
        "PcBl, OpenStack, KVM, 200 clients, patience 60 s"
    ]
    assert row.verdict == "not measured"
    assert not row.ours
    assert "clients = 200" in row.why


def test_a_short_form_is_matched_by_proportions() -> None:
    row = table("vod_blocking", made.movie())["PcBl, OpenStack, KVM, 200 clients, patience 60 s"]
    assert row.ours[0].group == "200/patience=0.5", "a 30th of 15 s, as 60 s of 1800 s"
    assert "kind native here, cloud there" in row.why


def test_emulation_is_never_comparable() -> None:
    ours = Ours(
        environment="vm", group="g", emulated=True, figure=Estimate(value=1.0), conditions={}
    )
    row = Row(what="w", value=1.0, unit="s", source="s", answer="a", find=lambda _: [ours])
    declared = Table(name="t", title="T", differs="", rows=lambda _: [row])
    (found,) = beside([Known(declared, (row,))], made.read_costs())
    assert found.rows[0].verdict == "not comparable"
    assert found.rows[0].why == "emulated in software here"


def test_guests_that_a_program_emulated_are_never_comparable() -> None:
    run = made.allocations()
    doubt = CountedWarning(Warning(GUESTS_EMULATED, "slow"))
    cells = tuple(msgspec.structs.replace(one, warnings=(doubt,)) for one in run.cells)
    run = msgspec.structs.replace(run, cells=cells, allocations=())
    assert "emulated in software here" in table("allocation_latency", run)["OpenNebula, KVM"].why


def test_the_nearest_figure_is_shown_where_none_compares() -> None:
    far, near = (
        Ours(
            environment=name,
            group="g",
            emulated=False,
            figure=Estimate(value=1.0),
            conditions={"a": a, "b": 0},
        )
        for name, a in (("far", 0), ("near", 1))
    )
    row = Row(
        what="w",
        value=1.0,
        unit="s",
        source="s",
        answer="a",
        find=lambda _: [far, near],
        alike=(Condition("a", 1), Condition("b", 1)),
    )
    declared = Table(name="t", title="T", differs="", rows=lambda _: [row])
    (found,) = beside([Known(declared, (row,))], made.read_costs())
    assert [one.environment for one in found.rows[0].ours] == ["near"]
    assert found.rows[0].why == "b 0 here, 1 there"


def test_a_gain_is_the_default_over_edfcoaloc() -> None:
    row = table("coloc_gain", made.colocated())["blackscholes, high load, 4 threads"]
    assert row.ours[0].value == pytest.approx(25.0)
    assert row.why == "batch xz here, blackscholes there"
    same = table("coloc_gain", made.colocated("blackscholes"))["blackscholes, high load, 4 threads"]
    assert same.verdict == "comparable"
    assert same.ours[0].difference == pytest.approx(25 - 68)


def test_aggregated_links_are_compared_in_the_studys_bonding_mode() -> None:
    rows = table("nic_aggregation", made.links())
    ft = rows["FT.C 16 processes, run time reduction, links: 3, lxd"]
    assert ft.verdict == "comparable"
    assert ft.ours[0].value == pytest.approx(36.0)
    other = table("nic_aggregation", made.links("mptcp"))[ft.what]
    assert other.why == "method mptcp here, balance-rr there"
    native = rows["NetPIPE bidirectional throughput, 1 GbE, links: 1, native"]
    assert native.why == "ranks_in containers here, hosts there"
    wins = rows["results where LXC beats KVM, two tenants, lxc"]
    assert wins.ours[0].value == 100.0, "one group of one"


def test_guests_are_compared_with_the_host_and_with_fewer_guests() -> None:
    rows = table("io_energy", made.costs())
    values = {what: row.ours[0].value for what, row in rows.items() if row.ours}
    assert values["cycles per I/O added by one VM, average"] == pytest.approx(100.0)
    assert values["overhead of two VMs, Dedup"] == pytest.approx(200.0)
    assert values["cpio change with two VMs instead of one, IOR"] == pytest.approx(50.0)
    assert values["emio disk over SSD, idle power 0"] == pytest.approx(1.5)
    assert values["energy per I/O added by the OS, Psearchy"] == pytest.approx(100.0)
    assert values["system cycles per I/O at 1000 cores over 1 core, linear projection"] == 100.0


def test_a_cloud_is_compared_with_its_own_manager_alone() -> None:
    def conditions(provider: str) -> dict[str, str | int | float | bool]:
        return {"kind": "cloud", "cloud.provider": provider, "technology": "vm"}

    rows = next(one for one in KNOWN if one.table.name == "allocation_latency").rows
    kvm = next(row for row in rows if row.what.startswith("OpenNebula, KVM"))
    ours = Ours(
        environment="c",
        group="g",
        emulated=False,
        figure=Estimate(value=60.0, error=1.0, freedom=19, n=20),
        conditions=conditions("opennebula"),
    )
    other = msgspec.structs.replace(ours, conditions=conditions("openstack"))
    for one, verdict in ((ours, "comparable"), (other, "not comparable")):
        row = msgspec.structs.replace(kvm, find=lambda _, one=one: [one])
        declared = Table(name="t", title="T", differs="", rows=lambda _: [])
        (found,) = beside([Known(declared, (row,))], made.read_costs())
        assert found.rows[0].verdict == verdict
