"""Cost of a run by the price of an hour."""

from __future__ import annotations

import pytest

from aferir.measuring import cost
from aferir.model.host import Price
from aferir.model.record import Sample

RATE = Sample("throughput_bps", 1e6, "B/s")


def test_a_run_costs_its_share_of_an_hour() -> None:
    (paid,) = cost.samples(Price(0.36, "EUR"), 10.0)
    assert (paid.metric, paid.unit, paid.side) == ("cost_eur", "EUR", "host")
    assert paid.value == pytest.approx(0.001)
    assert cost.samples(None, 10.0) == ()


def test_the_cost_of_a_unit_is_of_the_measured_part() -> None:
    paid = cost.samples(Price(0.36, "EUR"), 10.0)
    (each,) = cost.per_unit((Sample("time_s", 2.0, "s"), RATE), paid, 10.0)
    assert (each.metric, each.unit) == ("cost_per_unit_eur", "EUR/B")
    assert each.value == pytest.approx(1e-4 / 1e6)
    assert cost.per_unit((RATE,), (), 10.0) == ()
    assert cost.per_unit((Sample("time_s", 2.0, "s"),), paid, 10.0) == ()
