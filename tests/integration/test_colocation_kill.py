"""SIGKILL of each process of a co-location at a random moment: everything is restored.

The bench holds that to a second.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aferir.colocation.privileges import findings
from benchmarks.colocation import kill
from benchmarks.colocation.kill import Patience, Trial, Victim
from tests.integration.support import own_state

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_state(tmp_path_factory, monkeypatch)


@pytest.mark.skipif(
    any(finding.status == "missing" for finding in findings()),
    reason="scheduling other people's threads and making control groups takes root",
)
@pytest.mark.parametrize("victim", kill.VICTIMS)
def test_whoever_is_killed(victim: Victim) -> None:
    draw = random.Random(kill.VICTIMS.index(victim))  # noqa: S311 - not cryptography
    policy = draw.choice(("deadline", "service-nice", "cpuset", "fifo"))
    endless = Patience(starting_s=None, restoring_s=None)
    done = kill.trial(victim, policy, draw, begun=True, patience=endless)
    assert done.different == ()
    assert not done.service_stopped
    assert done.restored_s is not None


def test_what_was_never_restored_fails_the_bench() -> None:
    well = Trial(victim="guard", policy="fifo", restored_s=0.1)
    lost = Trial(victim="batch", policy="fifo", restored_s=None, different=("thread 7",))
    late = Trial(victim="service", policy="fifo", restored_s=1.5, service_stopped=True)
    holds = {figure.name: figure.holds for figure in kill.summary([well, lost, late])}
    assert holds == {
        "kill.controller.restored": None,
        "kill.guard.restored": True,
        "kill.service.restored": False,
        "kill.batch.restored": False,
        "kill.both.restored": None,
        "kill.services_stopped": False,
    }
