"""The order in which cells run, and when groups of cells stop: pure functions."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aferir.model.plan import Order, Plan
from aferir.model.provenance import Segment
from aferir.model.record import Failure, Record, Sample, Warning
from aferir.runner.estimate import cost_s, rest_s, spent_before_s
from aferir.runner.order import arrange, rotate
from aferir.runner.stopping import History, Round, given_up, open_cells, rounds
from tests.unit.runner.fakes import experiment, plan_of

FIXED = plan_of(experiment())
RULE = plan_of(experiment(stop="min = 3\nmax = 6\ninterval_percent = 5.0\nemulated = 4"))


def made(
    cell: str,
    repetition: int,
    *,
    duration_s: float = 1.0,
    fails: bool = False,
    emulated: bool = False,
) -> Record:
    environment, _, group = cell.partition("/")
    return Record(
        cell=cell,
        group=group,
        environment=environment,
        workload=group,
        repetition=repetition,
        started_unix_ns=1,
        samples=() if fails else (Sample("duration_s", duration_s, "s"),),
        failure=Failure("program", "no") if fails else None,
        warnings=(Warning("emulated", "slow"),) if emulated else (),
    )


def turn(plan: Plan, number: int) -> Round:
    return Round(number, warmup=False, slot=plan.warmup + number)


def opened(plan: Plan, records: list[Record], number: int) -> set[str]:
    history = History(plan.warmup, records)
    return {cell.id for cell in open_cells(plan, history, turn(plan, number))}


@given(seed=st.integers(0, 2**63 - 1), slot=st.integers(0, 1000), n=st.integers(1, 7))
def test_a_rotation_is_a_permutation_and_repeatable(seed: int, slot: int, n: int) -> None:
    items = list(range(n))
    assert sorted(rotate(items, seed, "g", slot)) == items
    assert rotate(items, seed, "g", slot) == rotate(items, seed, "g", slot)


@given(seed=st.integers(0, 1000), n=st.integers(1, 6))
def test_each_environment_is_equally_often_first(seed: int, n: int) -> None:
    firsts = Counter(rotate(range(n), seed, "g", slot)[0] for slot in range(3 * n))
    assert set(firsts.values()) == {3}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_each_environment_follows_each_other_one_equally_often(n: int) -> None:
    """Whatever state a run leaves behind, it meets all others alike."""
    follows: Counter[tuple[int, int]] = Counter()
    for slot in range(4 * n):
        order = rotate(range(n), 5, "g", slot)
        follows.update(pairwise(order))
    assert len(follows) == n * (n - 1)
    assert len(set(follows.values())) == 1


def test_the_order_of_neighbours_is_not_always_the_same() -> None:
    """Two environments do not simply take turns: a state of period 2 would hit one of them."""
    firsts = [rotate("ab", 1, "g", slot)[0] for slot in range(40)]
    repeats = sum(a == b for a, b in pairwise(firsts))
    assert 5 <= repeats <= 20


def test_interleaved_keeps_a_group_together_in_the_order_of_the_plan() -> None:
    for slot in range(20):
        groups = [cell.group for cell in arrange(FIXED.cells, "interleaved", 7, slot)]
        assert groups == ["a"] * 3 + ["b"] * 3


def test_seeds_and_rounds_differ() -> None:
    orders: tuple[Order, ...] = ("interleaved", "random")
    for order in orders:
        by_seed = {arrange(FIXED.cells, order, seed, 0)[0].id for seed in range(40)}
        assert len(by_seed) >= 3
        by_slot = {tuple(c.id for c in arrange(FIXED.cells, order, 1, slot)) for slot in range(40)}
        assert len(by_slot) > 10
    shuffled = [cell.group for cell in arrange(FIXED.cells, "random", 1, 3)]
    assert sorted(shuffled) == ["a"] * 3 + ["b"] * 3


def test_the_order_is_pinned() -> None:
    """A resumed run must go on as an older process began: this order may never change."""
    ids = [cell.id for cell in arrange(FIXED.cells, "interleaved", 1, 0)]
    assert ids == ["vm/a", "native/a", "container/a", "native/b", "container/b", "vm/b"]


def test_warmup_rounds_go_before() -> None:
    turns = list(rounds(FIXED))
    assert [(t.number, t.warmup, t.slot) for t in turns] == [
        (0, True, 0),
        (0, False, 1),
        (1, False, 2),
        (2, False, 3),
    ]


def test_a_fixed_number_opens_every_cell_until_then() -> None:
    records = [made(cell.id, k) for cell in FIXED.cells for k in range(3)]
    assert len(opened(FIXED, records, 2)) == 6
    assert opened(FIXED, records, 3) == set()


def test_a_group_goes_on_until_all_its_environments_are_known() -> None:
    records = [made(cell.id, k) for cell in RULE.cells for k in range(3) if cell.id != "vm/b"]
    records += [made("vm/b", k, duration_s=d) for k, d in enumerate((1.0, 2.0, 3.0))]
    assert len(opened(RULE, records[:12], 2)) == 6  # fewer than the minimum
    assert opened(RULE, records, 3) == {"native/b", "container/b", "vm/b"}
    assert opened(RULE, records, 6) == set()


def test_the_round_itself_does_not_count() -> None:
    """What a crash left of a round must not change what the round is to do."""
    records = [made(cell.id, k, duration_s=1.0 + k) for cell in RULE.cells for k in range(3)]
    whole = opened(RULE, records, 3)
    assert len(whole) == 6
    later = [made(cell.id, 3, duration_s=2.0, fails=True, emulated=True) for cell in RULE.cells]
    assert opened(RULE, records + later, 3) == whole


def test_an_emulated_environment_stops_early_and_alone() -> None:
    plan = plan_of(experiment(stop="repetitions = 5\nemulated = 2"))
    records = [made(c.id, k, emulated=c.environment == "vm") for c in plan.cells for k in range(2)]
    assert opened(plan, records, 2) == {"native/a", "container/a", "native/b", "container/b"}


def test_an_emulated_environment_does_not_hold_an_interval_up() -> None:
    records = [
        made(c.id, k, duration_s=1.0 + k * (c.environment == "vm"), emulated=c.environment == "vm")
        for c in RULE.cells
        for k in range(4)
    ]
    assert len(opened(RULE, records, 3)) == 6  # the guest has not its 4 yet
    assert opened(RULE, records, 4) == set()


def test_three_failures_in_a_row_give_a_cell_up() -> None:
    records = [made("vm/a", k, fails=k != 1) for k in range(2)]
    records += [made("vm/b", k, fails=True) for k in range(3)]
    history = History(FIXED.warmup, records)
    assert not given_up(history, "vm/a")
    assert given_up(history, "vm/b")
    plan = plan_of(experiment(stop="repetitions = 6"))
    assert opened(plan, records, 3) == {cell.id for cell in plan.cells} - {"vm/b"}


def test_a_cell_without_figures_is_not_known_well() -> None:
    records = [made(cell.id, k) for cell in RULE.cells for k in range(3) if cell.id != "vm/a"]
    records += [made("vm/a", 0, fails=True), made("vm/a", 1), made("vm/a", 2, fails=True)]
    assert "native/a" in opened(RULE, records, 3)


def timed(cell: str, repetition: int, elapsed_s: float) -> Record:
    samples = (Sample("elapsed_s", elapsed_s, "s", "environment"),)
    return msgspec.structs.replace(made(cell, repetition), samples=samples)


def test_the_rest_is_estimated_from_what_was_spent() -> None:
    history = History(FIXED.warmup)
    cells = FIXED.cells[:2]
    assert rest_s(FIXED, history, cells, cells, Round(0, warmup=True, slot=0)) is None
    history.add(timed("native/a", 0, 2.0))
    history.add(timed("container/a", 0, 3.0))
    assert cost_s(history, "native/a") == 2.0
    # Round 1 of 0, 1, 2: one of its cells is left, and both of round 2.
    assert rest_s(FIXED, history, cells, cells[1:], turn(FIXED, 1)) == pytest.approx(3 + 5)
    assert rest_s(FIXED, history, cells, (), turn(FIXED, 2)) == 0
    warm = Round(0, warmup=True, slot=0)
    assert rest_s(FIXED, history, cells, cells, warm) == pytest.approx(4 * 5)


def test_time_spent_by_earlier_starts() -> None:
    records = [
        msgspec.structs.replace(made("a/b", at), started_unix_ns=at * 10**9) for at in (5, 12, 95)
    ]
    segments = [Segment(started_unix_ns=0), Segment(started_unix_ns=90 * 10**9)]
    assert spent_before_s(segments, records) == 12 + 5
    ended = Segment(started_unix_ns=0, ended_unix_ns=20 * 10**9)
    assert spent_before_s([ended], records) == 20
    assert spent_before_s([], []) == 0
