"""Curves along a quantity: pooled over repetitions, drawn, and exported one value a row."""

from __future__ import annotations

import csv
from pathlib import Path

import msgspec
import pytest

from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.record import Failure, Record, Sample, Series
from aferir.model.stamps import Stamp
from aferir.report.analyse import analyse
from aferir.report.charts.curves import curve_charts
from aferir.report.curves import curve_families
from aferir.report.model import Evaluation
from aferir.report.page import sections
from aferir.report.sections.curves import MOST_OPEN
from aferir.report.write.csv import write_samples_csv
from aferir.store.lines import decode_lines, encode_line

SIZES = (1.0, 64.0, 4096.0)


def latency(*values: float, label: str = "", at: tuple[float | str, ...] = SIZES) -> Series:
    return Series(
        metric="latency_s",
        unit="s",
        values=values,
        along="message_bytes",
        along_unit="B",
        at=at,
        label=label,
    )


def plan(levels: tuple[int, ...] = (1,), environments: tuple[str, ...] = ("native",)) -> Plan:
    return Plan(
        name="sweep",
        title="Sweep",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=3, emulated=1),
        time_limit_s=60,
        environments=tuple(
            EnvironmentSpec(name=name, kind="native", cpus=1, memory_bytes=2**30)
            for name in environments
        ),
        cells=tuple(
            Cell(
                id=f"{name}/net/threads={level}",
                group=f"net/threads={level}",
                environment=name,
                workload=WorkloadSpec(name="net", program="net", parameters={}, time_limit_s=9),
                factors={"threads": level},
            )
            for level in levels
            for name in environments
        ),
    )


def record(cell: Cell, repetition: int, duration_s: float, *series: Series) -> Record:
    return Record(
        cell=cell.id,
        group=cell.group,
        environment=cell.environment,
        workload="net",
        factors=cell.factors,
        repetition=repetition,
        started_unix_ns=1,
        samples=(Sample("duration_s", duration_s, "s"),),
        series=series,
    )


def evaluated(*repetitions: tuple[Series, ...]) -> Evaluation:
    made = plan()
    records = [record(made.cells[0], k, 1.0, *series) for k, series in enumerate(repetitions)]
    return analyse(made, records)


def test_repetitions_with_the_same_places_are_pooled() -> None:
    evaluation = evaluated((latency(3, 5, 7),), (latency(1, 5, 9),), (latency(2, 4, 8),))
    (family,) = evaluation.curves
    (curve,) = family.curves
    assert family.pooled
    assert [(p.at, p.n, p.quantile_25, p.median, p.quantile_75) for p in curve.points] == [
        (1.0, 3, 1.5, 2, 2.5),
        (64.0, 3, 4.5, 5, 5),
        (4096.0, 3, 7.5, 8, 8.5),
    ]


def test_repetitions_with_places_of_their_own_are_not_mixed() -> None:
    evaluation = evaluated((latency(3, 5, at=(0.1, 0.2)),), (latency(1, 5, at=(0.1, 0.3)),))
    (family,) = evaluation.curves
    assert not family.pooled
    assert [(p.at, p.n, p.median) for p in family.curves[0].points] == [(0.1, 1, 3), (0.2, 1, 5)]
    assert "first repetition" in curve_charts(evaluation)[0]


def test_a_failed_repetition_gives_no_values() -> None:
    made = plan()
    good = record(made.cells[0], 0, 1.0, latency(1, 2, 3))
    bad = msgspec.structs.replace(
        record(made.cells[0], 1, 1.0, latency(100, 200, 300)), failure=Failure("program", "broke")
    )
    (family,) = analyse(made, [good, bad]).curves
    assert [p.quantile_75 for p in family.curves[0].points] == [1, 2, 3]


def test_arms_of_a_program_are_curves_of_one_picture() -> None:
    evaluation = evaluated((latency(1, 2, 3, label="tcp"), latency(4, 5, 6, label="mpi")))
    (family,) = evaluation.curves
    assert [curve.label for curve in family.curves] == ["tcp", "mpi"]
    (svg,) = curve_charts(evaluation)
    assert "tcp: 1.00 s at 1.00 B, 3.00 s at 4.10 kB" in svg
    assert "mpi" in svg


def test_what_happened_on_the_way_is_marked_where_it_happened() -> None:
    cut = msgspec.structs.replace(latency(1, 5, at=(0.1, 0.2)), moments={"eth0 is cut": 0.15})
    evaluation = evaluated((cut, latency(2, 6, label="other", at=(0.1, 0.2))))
    assert evaluation.curves[0].moments == {"eth0 is cut": 0.15}
    assert "eth0 is cut" in curve_charts(evaluation)[0]
    assert "is cut" not in curve_charts(evaluated((latency(1, 5, at=(0.1, 0.2)),)))[0]


def test_a_metric_that_names_its_places_is_not_said_to_be_by_them_twice() -> None:
    methods = Series(
        metric="bandwidth_by_method_bps",
        unit="B/s",
        values=(1e6, 2e6),
        along="method",
        at=("sendrecv", "alltoallv"),
    )
    (svg,) = curve_charts(evaluated((methods,)))
    assert "bandwidth by method" in svg
    assert "by method by method" not in svg


def test_words_become_rows_of_dots_in_the_order_of_the_program() -> None:
    evaluation = evaluated((latency(2e-8, 1e-8, at=("rdtscp", "<rvec>")),))
    (family,) = evaluation.curves
    assert family.categories
    assert [point.at for point in family.curves[0].points] == ["rdtscp", "<rvec>"]
    (svg,) = curve_charts(evaluation)
    assert "20.0 ns" in svg
    assert "&lt;rvec&gt;" in svg
    assert "<rvec>" not in svg


def test_three_levels_of_a_factor_make_a_curve_a_speed_up_and_an_efficiency() -> None:
    made = plan((1, 2, 4))
    durations = {1: 8.0, 2: 4.0, 4: 2.5}
    records = [
        record(cell, k, durations[int(cell.factors["threads"])] * (1 + 0.1 * k))
        for cell in made.cells
        for k in range(3)
    ]
    duration, speed_up, efficiency = analyse(made, records).curves
    assert (duration.metric, duration.along, duration.title) == ("duration_s", "threads", "net")
    assert [p.median for p in duration.curves[0].points] == pytest.approx([8.8, 4.4, 2.75])
    assert [p.median for p in speed_up.curves[0].points] == pytest.approx([1, 2, 3.2])
    assert efficiency.metric == "efficiency"
    assert [p.median for p in efficiency.curves[0].points] == pytest.approx([1, 1, 0.8])
    assert efficiency.curves[0].points[1].quantile_25 == pytest.approx(8.8 / 4.6 / 2)
    assert speed_up.curves[0].points[1].quantile_25 == pytest.approx(8.8 / 4.6)
    grown = msgspec.structs.replace(
        made,
        cells=tuple(
            msgspec.structs.replace(
                cell, workload=msgspec.structs.replace(cell.workload, parameters={"grow": True})
            )
            for cell in made.cells
        ),
    )
    assert [family.metric for family in analyse(grown, records).curves] == ["duration_s"]
    assert "ideal" in curve_charts(analyse(made, records))[1]


def test_curves_along_a_factor_are_open_above_the_many_of_each_group() -> None:
    made = plan((1, 2, 3))
    many = tuple(
        msgspec.structs.replace(latency(1, 2, 3), metric=f"gap{place}_s")
        for place in range(MOST_OPEN)
    )
    found = {
        one.title: one
        for one in sections(analyse(made, [record(cell, 0, 1.0, *many) for cell in made.cells]))
    }
    assert not found["Curves and series"].folded
    assert found["Series of each group"].folded == "90 pictures"
    few = sections(analyse(made, [record(cell, 0, 1.0, latency(1, 2, 3)) for cell in made.cells]))
    assert "Series of each group" not in [one.title for one in few]


def test_two_levels_of_a_factor_are_left_to_the_tables() -> None:
    made = plan((1, 2))
    records = [record(cell, 0, 1.0) for cell in made.cells]
    assert analyse(made, records).curves == ()


def test_environments_share_a_picture() -> None:
    made = plan(environments=("native", "container"))
    records = [record(cell, 0, 1.0, latency(1, 2, 3)) for cell in made.cells]
    (family,) = analyse(made, records).curves
    assert [curve.environment for curve in family.curves] == ["native", "container"]


def test_series_survive_the_disk_and_become_rows(tmp_path: Path) -> None:
    made = record(plan().cells[0], 0, 1.0, latency(1, 2, at=(8.0, 64.0)), latency(3, at=("all",)))
    assert decode_lines(encode_line(made))[0] == [made]
    write_samples_csv(tmp_path / "samples.csv", [made])
    with (tmp_path / "samples.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["metric"], row["value"], row["at"]) for row in rows] == [
        ("duration_s", "1.0", ""),
        ("latency_s", "1", "8.0"),
        ("latency_s", "2", "64.0"),
        ("latency_s", "3", "all"),
    ]


def test_values_over_time_have_the_time_of_each(tmp_path: Path) -> None:
    curve = Series(
        metric="power_w",
        unit="W",
        values=(40.0, 60.0),
        along="time_s",
        at=(0.5, 1.0),
        began=Stamp(10**18, 7),
    )
    made = record(plan().cells[0], 0, 1.0, curve)
    write_samples_csv(tmp_path / "samples.csv", [made])
    with (tmp_path / "samples.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["at_unix_ns"], row["at_bound_ns"]) for row in rows] == [
        ("", ""),
        (str(10**18 + 500_000_000), "7"),
        (str(10**18 + 1_000_000_000), "7"),
    ]


@pytest.mark.parametrize(
    "wrong", [latency(float("nan"), at=(1.0,)), latency(1, at=(float("inf"),))]
)
def test_a_series_that_is_not_finite_is_not_kept(wrong: Series) -> None:
    with pytest.raises(ValueError, match="not finite"):
        encode_line(record(plan().cells[0], 0, 1.0, wrong))


def test_a_series_has_a_place_for_every_value() -> None:
    with pytest.raises(ValueError, match="2 values at 1 places"):
        latency(1, 2, at=(1.0,))


def test_a_series_along_a_factor_goes_through_the_cells_of_its_levels() -> None:
    def record(level: int, repetition: int, value: float) -> Record:
        return Record(
            cell=f"native/net/threads={level}",
            group=f"net/threads={level}",
            environment="native",
            workload="net",
            factors={"threads": level},
            repetition=repetition,
            started_unix_ns=0,
            series=(
                Series(
                    metric="error_s",
                    unit="s",
                    values=(value,),
                    along="threads",
                    at=(float(level),),
                    label="own",
                ),
            ),
        )

    records = [record(1, 1, 0.5), record(2, 1, 0.25), record(1, 2, 1.5), record(2, 2, 0.75)]
    families = curve_families(analyse(plan((1, 2)), records).cells, records)
    assert [(f.title, f.metric, f.pooled) for f in families] == [("net", "error_s", True)]
    (curve,) = families[0].curves
    assert [(p.at, p.n, p.median) for p in curve.points] == [(1, 2, 1.0), (2, 2, 0.5)]


def point(value: float, place: float, label: str) -> Series:
    made = latency(value, label=label, at=(place,))
    return msgspec.structs.replace(made, along="batch_share", along_unit="", kind="frontier")


def test_a_scatter_pools_repetitions_although_their_places_differ() -> None:
    evaluation = evaluated(
        (point(3, 0.1, "a"), point(9, 0.9, "b"), point(8, 0.2, "c")),
        (point(5, 0.3, "a"), point(9, 0.7, "b"), point(8, 0.2, "c")),
    )
    (family,) = evaluation.curves
    assert family.kind == "frontier"
    found = {curve.label: curve.points[0] for curve in family.curves}
    assert found["a"].at == pytest.approx(0.2)
    assert (found["a"].median, found["a"].n) == (4, 2)
    assert found["b"].at_25 == pytest.approx(0.75)
    assert found["b"].at_75 == pytest.approx(0.85)
    (svg,) = curve_charts(evaluation)
    assert "over batch share" in svg
    assert "beaten by none" in svg


def test_an_idle_link_is_drawn_at_nothing_not_on_a_logarithmic_axis() -> None:
    made = plan()
    carried = Series(
        metric="link_traffic_bytes",
        unit="B",
        values=(17e6, 200.0),
        along="link",
        at=("eth0", "eth1"),
    )
    (chart,) = curve_charts(analyse(made, [record(made.cells[0], 0, 1.0, carried)]))
    assert "link traffic by link" in chart
    assert ">0<" in chart
    assert "kB<" not in chart
