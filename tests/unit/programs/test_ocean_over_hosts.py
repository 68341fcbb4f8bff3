"""What the ocean proxy says of hosts: errors that nobody knows, and daemons that steer nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aferir.errors import ProgramError
from aferir.model.record import Sample, Warning
from aferir.programs.ocean import OCEAN, OTHERS, REFERENCE

EVERY = ("duration_s", "sums_share", "halos_share", "helpers_cpu_s", "wake_ups", "messages")


def printed(errors: list[float], **hosts: object) -> str:
    arm: dict[str, Any] = {key: [1.0] for key in EVERY}
    arm |= {"clock_error_s": errors, "steps_error_s": errors, "steps_s": [0.4, 0.6]}
    line = {"program": "ocean", "verified": True, "global_time": True, "processes": 2}
    line |= {"iterations": 10.0, "arms": [{"name": name, **arm} for name in (REFERENCE, *OTHERS)]}
    return msgspec.json.encode(line | hosts).decode() + "\n"


def found(text: str) -> tuple[set[str], set[str]]:
    """Codes of warnings, and names of figures that are errors of clocks."""
    parsed = OCEAN.parse(text)
    codes = {one.code for one in parsed if isinstance(one, Warning)}
    figures = {one.metric for one in parsed if isinstance(one, Sample)}
    return codes, figures & {"clock_error_s", "ntp_like_clock_error_s"}


def test_errors_of_clocks_are_known_on_one_machine_alone() -> None:
    both = {"clock_error_s", "ntp_like_clock_error_s"}
    assert found(printed([1e-6])) == (set(), both)
    assert found(printed([1e-6], hosts=2, one_kernel=True)) == ({"one-machine"}, both)
    assert found(printed([], hosts=2, one_kernel=False)) == (set(), set())
    with pytest.raises(ProgramError):
        found(printed([], hosts=2, one_kernel=True))


@pytest.mark.parametrize(("hosts", "steered", "code"), [(1, 0, True), (3, 1, True), (3, 2, False)])
def test_a_chronyd_that_only_measures_is_named(hosts: int, steered: int, *, code: bool) -> None:
    told = {"hosts": hosts, "one_kernel": False, "daemon": "chronyd", "steered_hosts": steered}
    assert ("chronyd-measured" in found(printed([], **told))[0]) == code
