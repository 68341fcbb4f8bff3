"""One ratio over several hosts, each of which measured it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from aferir.statistics.blocks import over_hosts


def test_hosts_count_and_not_their_rounds() -> None:
    """However exactly each host is known, what is said of their kind rests on how they differ."""
    logs = [0.00, 0.02, 0.04]
    found = over_hosts(logs, [1e-9] * 3)
    expected = stats.t.interval(0.95, 2, loc=0.02, scale=0.02 / math.sqrt(3))
    assert found.interval is not None
    assert np.log([found.interval.low, found.interval.high]) == pytest.approx(expected)
    assert found.between == pytest.approx(0.02)
    assert found.estimate == pytest.approx(math.exp(0.02))


def test_differences_that_errors_explain_are_not_of_hosts() -> None:
    assert over_hosts([0.0, 0.02, 0.04], [0.05] * 3).between == 0.0
    assert over_hosts([0.0, 0.02, 0.04], [0.05, None, 0.05]).between is None


def test_one_host_tells_nothing_of_its_kind() -> None:
    found = over_hosts([0.1], [0.01])
    assert (found.interval, found.between, found.hosts) == (None, None, 1)
    with pytest.raises(ValueError, match="no host"):
        over_hosts([], [])


def test_two_hosts_far_apart_have_an_interval_without_an_end() -> None:
    found = over_hosts([-300.0, 300.0], [None, None])
    assert found.interval is not None
    assert found.interval.high == math.inf
