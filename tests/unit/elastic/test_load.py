"""Load of cores between two readings of their counters."""

from __future__ import annotations

import pytest

from aferir.elastic.load import Look, loads


def test_the_load_of_the_servers_core_is_that_of_where_it_ran_last() -> None:
    looks = [
        Look(0.0, {0: (0, 0), 1: (0, 0)}, 0),
        Look(1.0, {0: (50, 100), 1: (0, 100)}, 0),
        Look(2.0, {0: (50, 200), 1: (90, 200)}, 1),
    ]
    found = loads(looks)
    assert found.at_s == (1.0, 2.0)
    assert found.all_cores == pytest.approx((25.0, 45.0))
    assert found.server_core == pytest.approx((50.0, 90.0))


def test_a_core_without_a_tick_has_no_load() -> None:
    looks = [Look(0.0, {0: (5, 5)}, 0), Look(0.001, {0: (5, 5)}, 0), Look(1.0, {0: (6, 9)}, 3)]
    assert loads(looks).at_s == ()
