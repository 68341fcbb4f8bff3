"""Rooflines: their arithmetic, the models of NPB's kernels, and the picture."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.errors import MissingError
from aferir.linux import process
from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    Plan,
    StoppingRule,
    WorkloadSpec,
)
from aferir.model.record import Record, Sample
from aferir.programs.npb.intensity import intensity
from aferir.programs.npb.threads import CLASSES, KERNELS, NPB
from aferir.programs.peak import PEAK
from aferir.report.analyse import analyse
from aferir.report.charts.roofline import name_at_left, roofline_charts
from aferir.report.formatting import NOTHING
from aferir.report.model import Evaluation
from aferir.report.write.markdown import markdown
from aferir.statistics.roofline import Place, Roof
from tests.unit.programs.taking import command_of

numbers = st.floats(1e-3, 1e15)
roofs = st.builds(Roof, numbers, numbers)


@given(roof=roofs, intensity=numbers)
def test_no_program_is_allowed_more_than_either_limit(roof: Roof, intensity: float) -> None:
    assert roof.at(intensity) <= roof.peak
    assert roof.at(intensity) <= intensity * roof.bandwidth * (1 + 1e-12)
    assert roof.place(intensity, roof.at(intensity)).share == pytest.approx(1)


@given(roof=roofs, one=numbers, other=numbers)
def test_more_operations_a_byte_never_allow_less(roof: Roof, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert roof.at(low) <= roof.at(high) * (1 + 1e-12)
    if roof.limit(low) == "arithmetic":
        assert roof.limit(high) == "arithmetic"


@given(roof=roofs, intensity=numbers, rate=numbers, scale=st.floats(1e-3, 1e3))
def test_a_machine_that_is_faster_in_all_leaves_the_shares(
    roof: Roof, intensity: float, rate: float, scale: float
) -> None:
    faster = Roof(roof.peak * scale, roof.bandwidth * scale)
    moved, place = faster.place(intensity, rate * scale), roof.place(intensity, rate)
    is_at_the_roof = rate == pytest.approx(roof.at(intensity))  # where rounding decides
    assert is_at_the_roof or moved.share == pytest.approx(place.share)


@given(roof=roofs, intensity=numbers, share=st.floats(1e-6, 1))
def test_no_share_is_above_one_where_the_peak_is_none(
    roof: Roof, intensity: float, share: float
) -> None:
    place = roof.place(intensity, share * roof.peak)
    assert place.share <= 1 + 1e-12
    assert place.limit == "caches" or place.roof == roof.at(intensity)


def test_a_program_faster_than_memory_is_served_by_caches() -> None:
    roof = Roof(peak=100.0, bandwidth=20.0)
    assert roof.place(2, 40) == Place(40, "memory", 1)
    assert roof.place(2, 50) == Place(100, "caches", 0.5)


def test_the_limit_changes_at_the_ridge() -> None:
    roof = Roof(peak=100.0, bandwidth=20.0)
    assert roof.ridge == 5
    assert roof.limit(4.9) == "memory"
    assert roof.at(4) == 80
    assert roof.limit(5) == "arithmetic"
    assert roof.at(math.inf) == 100
    assert roof.place(math.inf, 25) == Place(100, "arithmetic", 0.25)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_what_is_not_positive_has_no_place(bad: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        Roof(bad, 1)
    with pytest.raises(ValueError, match="positive"):
        Roof(1, bad)
    for operations, rate in ((bad, 1.0), (1.0, bad)):
        with pytest.raises(ValueError, match="positive"):
            Roof(1, 1).place(operations, rate)


def test_kernels_whose_operations_are_floating_point_have_an_intensity() -> None:
    """NPB counts the random numbers of EP and the keys of IS: neither is under a roof."""
    for problem_class in CLASSES:
        known = {kernel for kernel in KERNELS if intensity(kernel, problem_class)}
        assert known == set(KERNELS) - {"ep", "is"}
    sizes = [intensity("ft", c) or 0 for c in "SWABC"]
    assert sizes == sorted(sizes)
    assert sizes[0] > 0


def test_the_models_keep_the_order_that_is_known_of_the_kernels() -> None:
    """CG streams a matrix, BT's blocks of 5 x 5 are heavy: Williams 2009 and NPB's own reports."""
    known = {k: value for k in KERNELS if (value := intensity(k, "A"))}
    assert sorted(known, key=lambda k: known[k]) == ["cg", "ft", "mg", "sp", "lu", "bt"]


def evaluation() -> Evaluation:
    """One environment: both roofs, and all kernels of class A."""
    line = {"class": "A", "verified": True, "duration_s": 1.0, "throughput_mops": 1000.0}
    samples = {
        "memory": (Sample("duration_s", 1.0, "s"), Sample("triad_bps", 2e10, "B/s")),
        "peak": (Sample("duration_s", 1.0, "s"), Sample("peak_flops", 1e11, "flop/s")),
    } | {str(k): NPB.parse(json.dumps(line | {"program": f"npb-{k}"})) for k in KERNELS}
    cells = tuple(
        Cell(
            id=f"native/{name}",
            group=name,
            environment="native",
            workload=WorkloadSpec(name=name, program="npb", parameters={}, time_limit_s=60),
        )
        for name in samples
    )
    plan = Plan(
        name="roof",
        title="",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=2, maximum=2, emulated=1),
        time_limit_s=60,
        environments=(EnvironmentSpec(name="native", kind="native", cpus=2, memory_bytes=2**30),),
        cells=cells,
    )
    records = [
        Record(
            cell=cell.id,
            group=cell.group,
            environment="native",
            workload=cell.workload.name,
            repetition=repetition,
            started_unix_ns=0,
            samples=tuple(s for s in samples[cell.workload.name] if isinstance(s, Sample)),
        )
        for cell in cells
        for repetition in (1, 2)
    ]
    return analyse(plan, records)


def test_a_run_with_both_roofs_has_a_roofline() -> None:
    (found,) = evaluation().rooflines
    assert (found.peak_flops, found.bandwidth_bps) == (1e11, 2e10)
    places = {program.workload: program for program in found.programs}
    assert set(places) == set(KERNELS) - {"ep", "is"}
    cg, bt = places["cg"], places["bt"]
    assert (cg.workload, cg.limit) == ("cg", "memory")
    assert cg.roof_flops == pytest.approx(0.2 * 1.03 * 2e10)
    assert cg.share == pytest.approx(1e9 / (0.2 * 2e10))
    assert (bt.workload, bt.limit, bt.roof_flops) == ("bt", "arithmetic", 1e11)
    assert bt.share == pytest.approx(0.72e9 / 1e11), "by operations that are executed"


def test_the_program_measures_a_peak_that_can_be() -> None:
    """A processor of today does one operation a nanosecond at least, and a thousand at most."""
    try:
        path = command_of(PEAK, {}).program
    except MissingError as error:
        pytest.skip(error.message)
    done = process.run([str(path), "--threads", "1", "--rounds", "20"])
    found = {sample.metric: sample.value for sample in PEAK.parse(done.stdout)}
    assert 1e9 < found["peak_flops"] < 1e12


def test_the_picture_names_each_program_and_its_share() -> None:
    (svg,) = roofline_charts(evaluation())
    assert "cg: 1.03 Gflop/s, 25 % of the memory roof" in svg
    assert "bt: 720 Mflop/s, 0.7 % of the arithmetic roof" in svg


def test_markdown_has_what_the_picture_shows() -> None:
    text = markdown(evaluation())
    section = text[text.index("## Where programs are bound") :].split("## ")[1]
    rows = [
        [field.strip() for field in line.split("|")[3:-1]]
        for line in section.splitlines()
        if line.startswith("| native")
    ]
    assert rows[:3] == [
        ["peak", NOTHING, NOTHING, "100 Gflop/s", *[NOTHING] * 3],
        ["triad", NOTHING, NOTHING, "20.0 GB/s", *[NOTHING] * 3],
        ["cg", "2", "0.206", "4.12 Gflop/s", "memory", "1.03 Gflop/s", "25 %"],
    ]
    assert ["bt", "2", "10.4", "100 Gflop/s", "arithmetic", "720 Mflop/s", "0.7 %"] in rows
    assert len(rows) == 2 + len(KERNELS) - 2


def test_markdown_without_roofs_has_no_section_of_them() -> None:
    bare = msgspec.structs.replace(evaluation(), rooflines=())
    assert "Where programs are bound" not in markdown(bare)


def test_a_name_does_not_run_into_the_mark_of_its_neighbour() -> None:
    ft, mg, sp, lu, bt = known = [1.5, 2.1, 3.7, 5.5, 14.5]
    assert [at for at in known if name_at_left(at, known)] == [ft, sp]
    assert not any(name_at_left(at, known) for at in (mg, lu, bt))
    assert not name_at_left(ft, [ft])
