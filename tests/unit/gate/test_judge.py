"""Verdicts of a gate from its pairs, and the forms in which they are written."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from aferir.gate import forms
from aferir.gate.judge import Values, Verdict, due, fractions, judge, judge_itself, values_of
from aferir.gate.words import details, headline
from aferir.model.record import Better, Record, Sample
from aferir.statistics.sequential import Limits

LIMITS = Limits(at_most=0.01)


def pairs(n: int, effect: float, spread: float = 0.01, seed: int = 1) -> Values:
    noise = np.random.default_rng(seed).normal(0, spread, n)
    base = 0.2 * np.exp(np.random.default_rng(seed + 1).normal(0, 0.2, n))
    return Values(tuple(base), tuple(base * (1 + effect) * np.exp(noise)))


def verdict_of(values: Values, planned: int, better: Better = "") -> Verdict:
    return judge(values, planned, LIMITS, metric="duration_s", better=better, unit="s")


def test_a_slower_head_an_equal_head_and_too_few_pairs() -> None:
    assert verdict_of(pairs(200, 0.05), 200).answer == "slower"
    assert verdict_of(pairs(200, 0.0), 200).answer == "pass"
    few = verdict_of(pairs(12, 0.012, spread=0.1, seed=5), 12)
    assert few.answer == "undecided"
    assert few.needed is None or few.needed > 12


def test_pairs_like_their_neighbours_are_no_difference_at_the_limit() -> None:
    drifting = Values((0.02,) * 4 + (2.0,) * 4, (2.0,) * 8)
    verdict = verdict_of(drifting, 8)
    assert verdict.answer == "undecided"
    assert "too much like their neighbours" in details(verdict, None)[0]


def test_it_stops_at_the_first_look_that_decides() -> None:
    clear = verdict_of(pairs(200, 0.2), 200)
    assert clear.pairs == 20
    assert clear.looks == 1


def test_where_higher_is_better_less_is_worse() -> None:
    assert verdict_of(pairs(200, -0.05), 200, better="higher").answer == "slower"
    assert verdict_of(pairs(200, 0.05), 200, better="higher").answer == "pass"


def test_looks_are_at_the_planned_pairs_and_never_before_eight() -> None:
    assert [due(n, 100) for n in (5, 10, 15, 20, 100)] == [None, 0, None, 1, 9]
    assert [round(f * 20) for f in fractions(20)] == [8, 10, 12, 14, 16, 18, 20]
    assert fractions(3) == (1.0,)


def test_what_time_cut_off_is_judged_by_what_there_is() -> None:
    cut = verdict_of(pairs(57, 0.05), 1000)
    assert cut.answer == "slower"
    assert cut.pairs == 57


def test_pairs_are_of_rounds_that_both_arms_have() -> None:
    def record(arm: str, n: int, value: float | None, *, warmup: bool = False) -> Record:
        samples = () if value is None else (Sample("duration_s", value, "s"),)
        return Record(
            cell=f"{arm}/program",
            group="program",
            environment=arm,
            workload="program",
            repetition=n,
            warmup=warmup,
            started_unix_ns=0,
            samples=samples,
        )

    records = [
        *(record("base", n, n + 1.0) for n in range(3)),
        record("head", 0, 9.0, warmup=True),
        *(record("head", n, value) for n, value in enumerate([2.0, None, 4.0])),
    ]
    assert values_of(records, "duration_s") == Values((1.0, 3.0), (2.0, 4.0))


def test_a_machine_that_favours_one_of_two_neighbours_is_told() -> None:
    assert judge_itself(pairs(30, 0.1), 100, LIMITS).alarm
    seen = judge_itself(pairs(30, 0.0), 100, LIMITS)
    assert not seen.alarm
    assert seen.visible is not None
    assert 0.002 < seen.visible < 0.01


@pytest.mark.parametrize(
    ("values", "word", "failures", "skipped"),
    [
        (pairs(200, 0.05), "Failed", "1", "0"),
        (pairs(200, 0.0), "Pass", "0", "0"),
        (pairs(12, 0.012, spread=0.1, seed=5), "Undecided", "0", "1"),
    ],
)
def test_the_answer_in_all_forms(values: Values, word: str, failures: str, skipped: str) -> None:
    verdict = verdict_of(values, len(values.base))
    seen = judge_itself(pairs(30, 0.0), 100, LIMITS)
    assert headline(verdict).startswith(word)
    suite = ET.fromstring(forms.junit("./bench <&\x01>", verdict, seen))  # noqa: S314 - our own
    assert (suite.get("failures"), suite.get("skipped")) == (failures, skipped)
    assert headline(verdict) in forms.markdown("./bench", verdict, seen)
    [entry] = json.loads(forms.github_benchmark("b", verdict))
    assert entry.keys() == {"name", "unit", "value", "range", "extra"}
    bmf = json.loads(forms.bencher("b", verdict))["b"]["latency"]
    assert bmf["lower_value"] < bmf["upper_value"]
    assert bmf["value"] == pytest.approx(entry["value"] * 1e9)
    said = details(verdict, seen)
    assert all(line.endswith(".") for line in said)
    once = f"was tested after {verdict.pairs};" in " ".join(said)
    assert once == (verdict.looks == 1)


@pytest.mark.parametrize(
    ("value", "unit", "shown"), [(1_234_567.0, "1", "1,234,567"), (0.0123456, "s", "12.3 ms")]
)
def test_a_comment_shows_figures_as_reports_do_and_whole_counts_exactly(
    value: float, unit: str, shown: str
) -> None:
    values = Values((value,) * 8, (value,) * 8)
    verdict = judge(values, 8, LIMITS, metric="figure", better="lower", unit=unit)
    assert f"| base | {shown} |" in forms.markdown("./bench", verdict, None)
