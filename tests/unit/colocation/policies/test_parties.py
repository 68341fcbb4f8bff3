"""The rule of PARTIES, decision by decision."""

from __future__ import annotations

from aferir.colocation.policies.parties import parties
from tests.unit.colocation.states import latency, live, state, step


def test_parties_moves_one_core_at_a_time_and_does_not_take_one_away_that_it_gave_back() -> None:
    calm = live(parties(), 3, cores=4, latency=latency(0.05))
    assert (calm.service_cpus, calm.batch.cpus) == ((0,), (1, 2, 3))
    tight = live(parties(), 0.1, first=calm, cores=4, latency=latency(0.05))
    tight = step(parties(), state(time_s=110.0, cores=4, latency=latency(0.199), now=tight))
    assert tight.service_cpus == (0, 1)
    again = step(parties(), state(time_s=111.0, cores=4, latency=latency(0.05), now=tight))
    assert again.service_cpus == (0, 1)
    at_last = step(parties(), state(time_s=150.0, cores=4, latency=latency(0.05), now=again))
    assert at_last.service_cpus == (0,)


def test_parties_suspends_a_batch_without_any_core() -> None:
    made = live(parties(), 3, cores=2, latency=latency(0.5))
    assert made.batch.suspended
    assert made.service_cpus == (0, 1)
