"""Hosts of a fleet are compared with hosts of their kind."""

from __future__ import annotations

import pytest

from aferir.errors import ProgramError
from aferir.hosts import fleet
from aferir.model.host import kind_of
from aferir.model.record import Failure, Record
from tests.unit.conftest import MadeUp

VALUES = {
    f"node{k}": {turn: 1.0 + 0.001 * ((3 * k + turn) % 5) for turn in range(6)} for k in range(6)
}
SLOW = {turn: 1.4 * value for turn, value in VALUES["node5"].items()}


def test_hosts_of_different_kinds_are_never_pooled() -> None:
    """Three slower ones of another kind make nobody look slow, nor fast."""
    old = {f"old{k}": {t: 2.0 * v for t, v in VALUES[f"node{k}"].items()} for k in range(3)}
    kinds = {name: "old" if name.startswith("old") else "new" for name in (*VALUES, *old)}
    found = fleet.groups({**VALUES, **old}, kinds)
    assert [set(group.medians) for group in found] == [set(VALUES), set(old)]
    assert not any(one.differs for group in found for one in group.standings)
    said = fleet.sentences(found, "duration_s")
    assert said[1].startswith("after 6 rounds, a host that differs by 0.")
    assert [said[0], *said[2:]] == [
        "none of six hosts differs from the others",
        "of three alike nobody can say which one differs",
        "two kinds of hosts are told apart and not compared",
    ]


def test_the_slow_one_is_named_with_its_peers() -> None:
    found = fleet.groups({**VALUES, "node5": SLOW}, dict.fromkeys(VALUES, "x"))
    said = fleet.sentences(found, "duration_s")
    assert said[0].startswith("node5 is 40.0 % slower than its five peers (interval ")
    assert len(said) == 2


def test_rounds_are_enough_once_the_difference_asked_for_would_be_reported() -> None:
    found = fleet.groups(VALUES, dict.fromkeys(VALUES, "x"))
    (group,) = found
    assert group.detectable is not None
    assert fleet.precise(found, group.detectable)
    assert not fleet.precise(found, 0.9 * group.detectable)
    few = fleet.groups({name: VALUES[name] for name in ("node0", "node1")}, {})
    assert not fleet.precise(few, 1.0)


def test_rounds_in_which_one_host_failed_do_not_count() -> None:
    broken = {turn: value for turn, value in VALUES["node2"].items() if turn > 1}
    (group,) = fleet.groups({**VALUES, "node2": broken}, dict.fromkeys(VALUES, "x"))
    assert group.rounds == 4


def test_a_kind_is_a_processor_and_how_many() -> None:
    facts = {"machine": {"cpu_model": "Xeon", "cpus": 8, "kernel": "6.1", "memory_bytes": 5}}
    assert kind_of(facts) == "Xeon, 8 CPUs"


def test_a_command_that_ran_on_no_host_is_told_with_its_reason(made_up: MadeUp) -> None:
    plan = made_up.plan()
    failed = Record(
        cell="native/absent",
        group="absent",
        environment=plan.environments[0].name,
        workload="absent",
        repetition=0,
        warmup=False,
        started_unix_ns=0,
        failure=Failure("program", "there is no program `./absent`", "name its path"),
    )
    with pytest.raises(ProgramError, match="there is no program") as told:
        fleet.values_of(plan, [failed], "duration_s")
    assert told.value.remedy == "name its path"
