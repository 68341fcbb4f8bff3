"""Opening sentences of a report on a single environment, or on another metric."""

from __future__ import annotations

import msgspec
import pytest

from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.record import GUESTS_EMULATED, Failure, Record, Sample, Warning
from aferir.report.analyse import analyse
from aferir.report.write.html import html

METHODS = ("single", "mptcp", "802.3ad")


def plan(metric: str = "", levels: tuple[str, ...] = METHODS, *, vm: bool = False) -> Plan:
    names = ("native", "vm") if vm else ("native",)
    return Plan(
        name="cut",
        title="Cut",
        baseline="native",
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=1, emulated=1),
        time_limit_s=60,
        metric=metric,
        environments=tuple(
            EnvironmentSpec(name=name, kind="native", cpus=1, memory_bytes=2**30) for name in names
        ),
        cells=tuple(
            Cell(
                id=f"{name}/cut/method={level}",
                group=f"cut/method={level}",
                environment=name,
                workload=WorkloadSpec(name="cut", program="x", parameters={}, time_limit_s=9),
                factors={"method": level},
            )
            for level in levels
            for name in names
        ),
    )


def records(made: Plan, gaps: dict[str, float]) -> list[Record]:
    return [
        Record(
            cell=cell.id,
            group=cell.group,
            environment=cell.environment,
            workload="cut",
            factors=cell.factors,
            repetition=repetition,
            warmup=False,
            started_unix_ns=1,
            samples=(Sample("duration_s", 6.0, "s"), Sample("gap_s", gaps[level], "s"))
            if level in gaps
            else (),
            failure=None if level in gaps else Failure("program", "it died"),
        )
        for cell in made.cells
        for level in [str(cell.factors["method"])]
        for repetition in (1, 2)
    ]


def opening(made: Plan, gaps: dict[str, float]) -> list[str]:
    return [s.text for s in analyse(made, records(made, gaps)).sentences]


def test_the_report_opens_with_what_the_file_asks_about() -> None:
    (text,) = opening(plan("gap_s"), {"mptcp": 0.2, "802.3ad": 0.013})
    assert text == (
        "cut, gap from the least to the most: 13.0 ms with method=802.3ad and 200 ms with "
        "method=mptcp (medians, n = 2). No result: method=single."
    )


def test_a_level_without_any_result_stands_for_its_groups() -> None:
    made = plan("gap_s")
    twice = [
        msgspec.structs.replace(
            cell,
            id=f"{cell.id}/links={links}",
            group=f"{cell.group}/links={links}",
            factors={**cell.factors, "links": links},
        )
        for cell in made.cells
        for links in (1, 2)
    ]
    made = msgspec.structs.replace(made, cells=tuple(twice))
    (text,) = opening(made, {"mptcp": 0.2, "802.3ad": 0.013})
    assert text.endswith("No result: all with method=single.")


def test_one_environment_is_looked_at_by_duration() -> None:
    assert opening(plan(), dict.fromkeys(METHODS, 0.1))[0].startswith("cut, duration from")


def test_a_long_list_names_its_ends() -> None:
    levels = tuple(f"m{number:02}" for number in range(20))
    gaps = {level: 1.0 + place for place, level in enumerate(levels)}
    (text,) = opening(plan("gap_s", levels), gaps)
    assert "m02, … (15 more), 19.0 s with method=m18" in text


@pytest.mark.parametrize(("metric", "first"), [("", "vm"), ("gap_s", "cut, gap")])
def test_environments_are_compared_as_ever_and_after_what_is_asked(metric: str, first: str) -> None:
    texts = opening(plan(metric, vm=True), dict.fromkeys(METHODS, 0.1))
    assert texts[0].startswith(first)
    assert texts[-1].startswith("vm")


def test_one_level_or_no_such_figure_makes_no_sentence() -> None:
    assert opening(plan(levels=("mptcp",)), {"mptcp": 0.1}) == []
    assert opening(plan("happiness"), dict.fromkeys(METHODS, 0.1)) == []


def test_guests_that_the_program_emulated_are_called_so() -> None:
    made = plan("gap_s", levels=("mptcp", "single"))
    doubt = (Warning(GUESTS_EMULATED, "slow"),)
    found = [
        msgspec.structs.replace(record, warnings=doubt if "mptcp" in record.cell else ())
        for record in records(made, {"mptcp": 0.2, "single": 0.1})
    ]
    (sentence,) = analyse(made, found).sentences
    assert "single and 200 ms with method=mptcp (guests emulated) (medians" in sentence.text


def test_the_page_shows_the_sentence_and_no_excuse() -> None:
    made = plan("gap_s")
    page = html(analyse(made, records(made, dict.fromkeys(METHODS, 0.1))))
    assert "gap from the least to the most" in page
    assert "nothing to compare" not in page
    assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made
