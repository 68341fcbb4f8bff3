"""The arithmetic of the bench of change points."""

from __future__ import annotations

import numpy as np
import pytest

from aferir.selftest.options import BenchOptions
from benchmarks.history.bench import ARMS, _rate, _share, alarms
from benchmarks.history.series import NOISE, NOISES, series


def test_a_rate_has_the_interval_of_garwood() -> None:
    figure = _rate("x", 3, 200, target=True)
    assert figure.value == pytest.approx(3 / 40)
    assert figure.interval == pytest.approx((0.6187 / 40, 8.7673 / 40), rel=1e-3)
    assert figure.holds
    assert _rate("x", 41, 200, target=True).holds is False
    none = _rate("x", 0, 200, target=False)
    assert none.interval == pytest.approx((0.0, 3.6889 / 40), rel=1e-3)


def test_a_share_below_nineteen_of_twenty_misses_the_target() -> None:
    assert _share("x", 95, 100, target=True).holds
    assert _share("x", 94, 100, target=True).holds is False


@pytest.mark.parametrize("name", ["independent", "autocorrelated-0.3", "autocorrelated-0.6"])
def test_noise_has_the_deviation_and_the_dependence_that_it_is_named_after(name: str) -> None:
    logs = np.log(series(NOISES[name], np.random.default_rng(1), 20_000))
    rho = float(name.rpartition("-")[2]) if "-" in name else 0.0
    assert logs.std() == pytest.approx(NOISE, rel=0.05)
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(rho, abs=0.03)


def test_every_arm_finds_a_change_that_nobody_could_miss() -> None:
    values = series(NOISES["independent"], np.random.default_rng(2), 60)
    values[30:] *= 1.5
    assert [divide(values) for divide in ARMS.values()] == [[30], [30], [30]]


def test_each_kind_of_noise_has_a_figure_for_each_arm() -> None:
    names = {one.name for one in alarms(BenchOptions(quick=True), lambda _text, _share: None)}
    assert len(names) == len(NOISES) * len(ARMS)
