"""The search for the load at which a service uses a given part of the CPUs."""

from __future__ import annotations

import pytest

from aferir.colocation.trials.capacity import settle
from aferir.errors import ProgramError


def test_a_rate_is_found_by_the_cpu_use_of_requests_beside_what_idling_takes() -> None:
    asked = []

    def used(rate: float) -> float:
        asked.append(rate)
        return 0.02 + 0.002 * rate

    rate = settle(used, 1.5)
    assert used(rate) == pytest.approx(1.5, rel=0.05)
    assert len(asked) <= 5


def test_a_service_that_cannot_use_so_much_is_told() -> None:
    with pytest.raises(ProgramError, match=r"no more than 1\.00 CPUs"):
        settle(lambda rate: min(0.002 * rate, 1.0), 1.9)


def test_a_service_without_any_use_is_told() -> None:
    with pytest.raises(ProgramError, match="no CPU time"):
        settle(lambda _: 0.0, 1.0)
