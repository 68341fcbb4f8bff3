"""`python -m benchmarks statistics`: simulations draw what they claim, and tables are complete."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from aferir.model.bench import Figure
from aferir.selftest.options import BenchOptions
from aferir.statistics.ratio import paired_ratio
from benchmarks.statistics import judge
from benchmarks.statistics.shapes import DEPENDENT, INDEPENDENT, STALLS
from benchmarks.statistics.tables import tables


@pytest.mark.parametrize("name", [*INDEPENDENT, *DEPENDENT, *STALLS])
def test_a_shape_is_a_shift_by_its_factor(name: str) -> None:
    draw = {**INDEPENDENT, **DEPENDENT, **STALLS}[name]
    one = draw(np.random.default_rng(1), 50, 40, 1.0)
    other = draw(np.random.default_rng(1), 50, 40, 1.25)
    assert one.shape == (50, 40)
    assert np.all(one > 0)
    assert np.median(other / one) == pytest.approx(1.25, rel=0.05)


def test_neighbours_have_their_correlation() -> None:
    rows = np.log(DEPENDENT["rho-0.9"](np.random.default_rng(2), 4, 20_000, 1.0))
    for row in rows:
        assert np.corrcoef(row[1:], row[:-1])[0, 1] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("kind", list(judge.KINDS))
@pytest.mark.parametrize("n", [5, 12])
def test_ratios_of_many_trials_at_once_equal_those_of_each_trial(kind: str, n: int) -> None:
    draw = INDEPENDENT["states-1.2-in-45-percent"]
    many = list(judge._ratios(kind, draw, np.random.default_rng(4), 30, n, factor=1.05))
    pairs = judge._pairs(draw, np.random.default_rng(4), 30, n, 1.05)
    each = [msgspec.structs.replace(judge.KINDS[kind](a, b), costs=None) for a, b in pairs]
    assert many == each


def test_a_family_claims_what_its_smallest_p_value_allows() -> None:
    rng = np.random.default_rng(3)
    clear = paired_ratio(1.2 * rng.lognormal(0, 0.01, 12), rng.lognormal(0, 0.01, 12))
    assert judge._claims(180, [clear])
    assert not judge._claims(180, [])


def test_every_figure_of_a_part_has_its_place_in_the_tables() -> None:
    figures = judge.drift(BenchOptions(quick=True), lambda *_: None)
    assert {figure.n for figure in figures} == {judge.QUICK_TRIALS}
    missed = Figure(name="false-claims.paired.normal.8.of-6", value=7.2, unit="%", n=1, holds=False)
    text = tables({figure.name: figure for figure in (*figures, missed)})
    assert "| shared-ramp |" in text
    assert "| normal.8 | **7.2** |" in text
    assert text.count("###") == 2


def test_a_state_that_lasts_the_run_is_counted_apart_from_one_that_changes() -> None:
    figures = {figure.name: figure for figure in judge._sides_stick(BenchOptions(quick=True), 8)}
    name = "wrong-intervals.paired.state-of-each-side"
    lasting, changing = figures[f"{name}-lasts-the-run.8"], figures[f"{name}-changes-in-the-run.8"]
    assert lasting.n + changing.n == judge.QUICK_TRIALS
    assert lasting.n > 0
    assert changing.n > 0
