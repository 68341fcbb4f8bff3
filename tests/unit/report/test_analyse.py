from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from aferir.model.record import Failure, Record
from aferir.report.analyse import analyse
from aferir.report.compare import compare
from aferir.report.model import CellResult, Evaluation
from aferir.report.ranking import combine
from aferir.statistics.ratio import paired_ratio, unpaired_ratio
from aferir.statistics.verdict import Rule


def cell(evaluation: Evaluation, environment: str, workload: str) -> CellResult:
    return next(
        c for c in evaluation.cells if (c.environment, c.workload) == (environment, workload)
    )


def durations(records: list[Record], cell_id: str) -> list[float]:
    return [
        sample.value
        for record in records
        if record.cell == cell_id and not record.warmup and record.failure is None
        for sample in record.samples
        if sample.metric == "duration_s"
    ]


def fail(record: Record, failure: Failure) -> Record:
    return msgspec.structs.replace(record, samples=(), failure=failure)


def test_a_cell_holds_the_figures_of_its_records(made_up: Any) -> None:
    plan, records = made_up.plan(), made_up.records()
    evaluation = analyse(plan, records)
    found = cell(evaluation, "container", "cg")
    own = durations(records, "container/cg/threads=2")
    native = durations(records, "native/cg/threads=2")
    assert [point.value for point in found.points] == own
    assert found.duration.n == 12
    assert found.duration.mean == pytest.approx(sum(own) / 12)
    assert found.ratio == paired_ratio(own, native)
    assert [metric.metric for metric in found.metrics] == ["throughput_mops"]
    assert {split.side for split in found.cpu} == {"host"}
    assert math.fsum(found.cpu[0].states.values()) == pytest.approx(100)
    assert "context_switches" in [metric.metric for metric in found.observed]


def test_what_is_timed_or_counted_has_no_mean_below_zero(made_up: Any) -> None:
    records = made_up.records()
    for at, record in enumerate(records):
        if record.repetition == 0:  # of twelve: t intervals become wide
            far = tuple(msgspec.structs.replace(s, value=100 * s.value) for s in record.samples)
            records[at] = msgspec.structs.replace(record, samples=far)
    found = cell(analyse(made_up.plan(), records), "container", "cg")
    seen = {one.metric: one.summary for one in (*found.metrics, *found.observed)}
    each = (found.duration, seen["context_switches"], seen["throughput_mops"])
    lows = [one.mean_interval.low for one in each if one.mean_interval is not None]
    assert (lows[0], lows[1], lows[2] < 0) == (0.0, 0.0, True)


def test_the_planted_slowdown_is_found_and_the_rest_is_not(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    outcomes = {
        (c.environment, c.workload): c.verdict.outcome for c in evaluation.cells if c.verdict
    }
    assert outcomes["container", "cg"] == "higher"
    assert outcomes["container", "ep"] == "alike"
    assert not any(c.verdict or c.ratio for c in evaluation.cells if c.baseline)


def test_sides_that_share_no_round_are_compared_unpaired(made_up: Any, failure: Failure) -> None:
    records = [
        fail(r, failure)
        if r.group == "cg/threads=2" and (r.environment == "native") == (r.repetition % 2 == 0)
        else r
        for r in made_up.records()
    ]
    ratio = cell(analyse(made_up.plan(), records), "container", "cg").ratio
    assert ratio is not None
    assert (ratio.paired, ratio.n, ratio.n_baseline) == (False, 6, 6)
    assert ratio == unpaired_ratio(
        durations(records, "container/cg/threads=2"), durations(records, "native/cg/threads=2")
    )


def test_a_random_order_is_paired_by_round_too(made_up: Any) -> None:
    plan = msgspec.structs.replace(made_up.plan(), order="random")
    ratio = cell(analyse(plan, made_up.records()), "container", "cg").ratio
    assert ratio is not None
    assert ratio.paired


def test_pairs_are_matched_by_repetition_not_by_place(made_up: Any, failure: Failure) -> None:
    plan = made_up.plan()
    records = [
        fail(r, failure) if (r.cell, r.repetition) == ("native/cg/threads=2", 3) else r
        for r in made_up.records()
    ]
    found = cell(analyse(plan, records), "container", "cg")
    assert found.duration.n == 12
    assert found.ratio is not None
    assert (found.ratio.n, found.ratio.paired) == (11, True)
    own = durations(records, "container/cg/threads=2")
    assert found.ratio == paired_ratio(own[:3] + own[4:], durations(records, "native/cg/threads=2"))


def test_holm_runs_over_all_ratios_that_claim_something(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    real = [c for c in evaluation.cells if c.verdict and not c.emulated]
    smallest = min(real, key=lambda c: c.verdict.p_value or 1.0)  # type: ignore[union-attr]
    assert smallest.verdict is not None
    assert smallest.verdict.p_value is not None
    assert smallest.verdict.p_adjusted == pytest.approx(3 * smallest.verdict.p_value)


def test_emulation_marks_every_result_of_its_environment(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    assert {c.environment for c in evaluation.cells if c.emulated} == {"vm"}
    assert all(c.emulated for c in evaluation.cells if c.environment == "vm")
    assert [a.emulated for a in evaluation.allocations] == [False, False, True]
    assert [r.emulated for r in evaluation.ranking] == [False, False, True]
    assert [s.emulated for s in evaluation.sentences][-1] is True
    last = evaluation.sentences[-1].text
    assert "emulated in software" in last
    assert "says nothing about the speed of a virtual machine under KVM" in last


def test_without_allocations_the_report_has_nothing_about_them(made_up: Any) -> None:
    alone = made_up.with_(environments=("native",))
    assert analyse(alone.plan(), alone.records()).allocations == ()
    broken = [
        msgspec.structs.replace(record, samples=(), failure=Failure("missing", "no answer", ""))
        if record.workload == "allocation"
        else record
        for record in alone.records()
    ]
    (failed,) = analyse(alone.plan(), broken).allocations
    assert failed.failures[0].failure.message == "no answer"


def test_allocations_have_their_phases_in_order(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    container = evaluation.allocations[1]
    assert [p.metric for p in container.phases] == ["copied_s", "booted_s", "ready_s"]
    assert container.total.n == 5
    means = [p.summary.mean for p in container.phases]
    assert container.total.mean == pytest.approx(sum(m for m in means if m is not None))


def test_failures_are_counted_and_leave_the_rest(made_up: Any, failure: Failure) -> None:
    records = [
        fail(r, failure) if r.cell == "container/ep/threads=2" and r.repetition < 2 else r
        for r in made_up.records()
    ]
    found = cell(analyse(made_up.plan(), records), "container", "ep")
    assert found.duration.n == 10
    assert [(f.failure.code, f.repetitions) for f in found.failures] == [("unverified", 2)]


def test_an_environment_that_always_fails_is_not_ranked(made_up: Any, failure: Failure) -> None:
    records = [fail(r, failure) if r.environment == "container" else r for r in made_up.records()]
    evaluation = analyse(made_up.plan(), records)
    assert [r.environment for r in evaluation.ranking] == ["native", "vm"]
    assert any("cannot be judged" in s.text and "no result" in s.text for s in evaluation.sentences)


def test_an_environment_that_lacks_groups_is_ranked_last(made_up: Any, failure: Failure) -> None:
    """It might owe its good ratio to what it could not run."""
    fast = made_up.with_(environments=("native", "container", "other"), cost={})
    records = [
        fail(r, failure) if (r.environment, r.workload) == ("container", "is") else r
        for r in fast.records()
    ]
    records = [
        msgspec.structs.replace(
            r, samples=tuple(msgspec.structs.replace(s, value=s.value / 2) for s in r.samples)
        )
        if r.environment == "container"
        else r
        for r in records
    ]
    ranking = analyse(fast.plan(), records).ranking
    assert ranking[-1].environment == "container"
    assert ranking[-1].ratio < 0.6
    assert (ranking[-1].groups, ranking[-1].of) == (2, 3)


def test_no_baseline_results(made_up: Any) -> None:
    records = [r for r in made_up.records() if r.environment != "native"]
    evaluation = analyse(made_up.plan(), records)
    assert not any(c.ratio for c in evaluation.cells)
    assert evaluation.ranking == ()
    container = next(s for s in evaluation.sentences if s.environment == "container")
    assert "no result of native to compare with" in container.text


def test_one_environment_only(made_up: Any) -> None:
    alone = made_up.with_(environments=("native",))
    evaluation = analyse(alone.plan(), alone.records())
    assert evaluation.sentences == ()
    assert [r.baseline for r in evaluation.ranking] == [True]


def test_an_empty_run(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), [])
    assert evaluation.repetitions == 0
    assert evaluation.ranking == ()
    assert evaluation.allocations == ()
    assert all(c.duration.n == 0 for c in evaluation.cells)


def test_a_single_repetition_has_a_ratio_without_interval(made_up: Any) -> None:
    once = made_up.with_(repetitions=1)
    evaluation = analyse(once.plan(), once.records())
    found = cell(evaluation, "container", "cg")
    assert found.ratio is not None
    assert found.ratio.estimate is not None
    assert found.ratio.interval is None
    assert found.verdict is not None
    assert found.verdict.outcome == "unknown"
    assert any("n = 1 is too few" in s.text for s in evaluation.sentences)


def test_variants_of_an_environment_meet_their_own_baseline(made_up: Any) -> None:
    """Factors of an environment make variants: `native[cpus=1]` is the baseline of its group."""
    plan, records = made_up.plan(), made_up.records()

    def vary(name: str) -> str:
        return f"{name}[cpus=1]"

    plan = msgspec.structs.replace(
        plan,
        environments=tuple(
            msgspec.structs.replace(e, name=vary(e.name)) for e in plan.environments
        ),
        cells=tuple(
            msgspec.structs.replace(c, environment=vary(c.environment)) for c in plan.cells
        ),
    )
    records = [msgspec.structs.replace(r, environment=vary(r.environment)) for r in records]
    evaluation = analyse(plan, records)
    assert cell(evaluation, "container[cpus=1]", "cg").verdict is not None
    assert [r.environment for r in evaluation.ranking] == ["native", "container", "vm"]


def test_sentences_say_what_was_found(made_up: Any) -> None:
    evaluation = analyse(made_up.plan(), made_up.records())
    texts = [s.text for s in evaluation.sentences]
    found = cell(evaluation, "container", "cg")
    assert any(
        t.startswith("container takes longer than native: +1") and "on cg/threads=2 (n = 12" in t
        for t in texts
    )
    assert any("takes as long as native to within" in t and "ep/" in t for t in texts)
    assert found.ratio is not None
    assert all("n = " in t for t in texts)


def test_sentences_for_a_faster_environment_and_a_wide_interval(made_up: Any) -> None:
    faster = made_up.with_(cost={("container", "cg"): 0.8})
    texts = [s.text for s in analyse(faster.plan(), faster.records()).sentences]
    assert any("container takes less time than native: -" in t for t in texts)
    short = made_up.with_(repetitions=3, seed=5)
    texts = [s.text for s in analyse(short.plan(), short.records()).sentences]
    assert any("cannot be told from native: the samples allow between" in t for t in texts)
    short = made_up.with_(repetitions=5, seed=5, cost={("container", "cg"): 1.03})
    texts = [s.text for s in analyse(short.plan(), short.records()).sentences]
    assert any("which is not significant (p = 0.044, 0.13 adjusted)" in t for t in texts)


def test_a_margin_of_the_callers(made_up: Any) -> None:
    strict = analyse(made_up.plan(), made_up.records(), rule=Rule(margin=0.001))
    assert cell(strict, "container", "ep").verdict is not None
    assert cell(strict, "container", "ep").verdict.outcome == "undecided"  # type: ignore[union-attr]


def test_combined_ratios_by_hand() -> None:
    # Three pairs of samples each with ratios 1.1 and 1.2: geometric mean sqrt(1.32).
    samples = ([1.1, 1.1001, 1.1002], [1.2, 1.2001, 1.2002])
    ratios = [paired_ratio(values, [1.0, 1.0, 1.0]) for values in samples]
    estimate, interval = combine(ratios, level=0.95)
    assert estimate == pytest.approx(math.sqrt(1.1 * 1.2), rel=1e-4)
    # sd ln 1.1001 - ln 1.1 = 9.0905e-5, over sqrt 3: error 5.2484e-5 with 2 degrees of freedom;
    # likewise 4.8110e-5. Errors of the half-sum: 2.6242e-5 and 2.4055e-5, together 3.5599e-5;
    # freedom (6.8864e-10 + 5.7864e-10)^2 / (6.8864e-10^2 + 5.7864e-10^2) * 2 = 3.9701;
    # t(0.975, 3.97) = 2.7847; half-width 9.913e-5.
    assert interval is not None
    assert math.log(interval.high / estimate) == pytest.approx(9.913e-5, rel=0.01)
    assert math.log(estimate / interval.low) == pytest.approx(9.913e-5, rel=0.01)
    with pytest.raises(ValueError, match="no ratio"):
        combine([], level=0.95)


def test_overlapping_intervals_share_their_places(made_up: Any) -> None:
    equal = made_up.with_(cost={})
    ranking = analyse(equal.plan(), equal.records()).ranking
    by_name = {r.environment: (r.best_place, r.worst_place) for r in ranking}
    assert by_name == {"native": (1, 2), "container": (1, 2), "vm": (3, 3)}
    costly = made_up.with_(cost={("container", w): 1.3 for w in ("ep", "cg", "is")})
    ranking = analyse(costly.plan(), costly.records()).ranking
    assert [(r.environment, r.best_place, r.worst_place) for r in ranking] == [
        ("native", 1, 1),
        ("container", 2, 2),
        ("vm", 3, 3),
    ]


def test_comparing_two_runs(made_up: Any) -> None:
    plan = made_up.plan()
    before = analyse(plan, made_up.records())
    slower = made_up.with_(cost={("container", "cg"): 1.5}, seed=2)
    after = analyse(slower.plan(), slower.records())
    comparison = compare(before, after)
    assert len(comparison.cells) == 9
    outcomes = {(c.environment, c.group): c.verdict.outcome for c in comparison.cells}
    assert outcomes["container", "cg/threads=2"] == "higher"
    assert outcomes["native", "ep/threads=2"] in {"alike", "undecided"}
    text = next(c.text for c in comparison.cells if c.group.startswith("cg") and "vm" in c.text)
    assert text.startswith("vm (emulated) on cg/threads=2")
    assert text.endswith("(n = 3 and 3)")
    assert comparison.only_first == comparison.only_second == ()


def test_comparing_runs_that_share_little(made_up: Any) -> None:
    first = made_up.with_(workloads=("ep", "cg"))
    second = made_up.with_(workloads=("cg", "is"))
    comparison = compare(
        analyse(first.plan(), first.records()), analyse(second.plan(), second.records())
    )
    assert {c.group for c in comparison.cells} == {"cg/threads=2"}
    assert all("/ep/" in name for name in comparison.only_first)
    assert all("/is/" in name for name in comparison.only_second)


def test_wins_are_counted_where_environments_met(made_up: Any) -> None:
    plan = made_up.plan()
    records = [r for r in made_up.records() if (r.environment, r.workload) != ("vm", "cg")]
    ranks = {rank.environment: rank for rank in analyse(plan, records).ranking}
    assert sum(rank.won for rank in ranks.values()) == 3
    assert ranks["vm"].won == 0
    assert ranks["vm"].contested == 2
    assert ranks["native"].won >= 2
    alone = [r for r in records if r.environment == "native"]
    assert [(r.won, r.contested) for r in analyse(plan, alone).ranking] == [(0, 0)]
