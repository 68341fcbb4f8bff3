"""ElasticMovie's Front as a state machine: its decisions, and its counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aferir.elastic.front import (
    Action,
    Allocate,
    Block,
    Front,
    Redirect,
    Release,
    Settings,
)


def front(clients_per_node: int = 2, patience_s: float = 60.0, **others: Any) -> Front:
    return Front(Settings(clients_per_node=clients_per_node, patience_s=patience_s, **others))


def filled(loads: tuple[int, ...], **others: Any) -> Front:
    """Nodes 0, 1, … with so many clients each, of at most 3."""
    made = front(3, **others)
    client = 0
    for node in range(len(loads)):
        made.arrive(0.0, client)
        for more in range(1, 3):
            made.arrive(0.0, client + more)
        made.ready(0.0, node)
        client += 3
    for node, load in enumerate(loads):
        for gone in range(3 - load):
            made.leave(1.0, 3 * node + gone)
    return made


def test_the_first_client_waits_for_an_allocation_and_is_redirected_to_it() -> None:
    made = front()
    assert made.arrive(0.0, 7) == [Allocate(0)]
    assert made.ready(40.0, 0) == [Redirect(7, 0)]


def test_clients_share_the_room_of_an_allocation_under_way() -> None:
    made = front(clients_per_node=2)
    assert made.arrive(0.0, 1) == [Allocate(0)]
    assert made.arrive(1.0, 2) == []
    assert made.arrive(2.0, 3) == [Allocate(1)]
    assert made.ready(9.0, 0) == [Redirect(1, 0), Redirect(2, 0)]


def test_each_client_may_wait_for_an_allocation_of_its_own() -> None:
    made = front(waiting="each")
    assert made.arrive(0.0, 1) == [Allocate(0)]
    assert made.arrive(1.0, 2) == [Allocate(1)]
    assert made.ready(9.0, 0) == [Redirect(1, 0), Redirect(2, 0)]
    assert made.ready(10.0, 1) == [Release(1)]


@pytest.mark.parametrize(("choice", "node"), [("most-loaded", 1), ("least-loaded", 2)])
def test_a_client_goes_to_a_node_with_room(choice: str, node: int) -> None:
    made = filled((3, 2, 1), choice=choice)
    assert made.arrive(2.0, 99) == [Redirect(99, node)]


def test_a_node_without_clients_is_released() -> None:
    made = filled((3, 1))
    assert made.leave(5.0, 5) == [Release(1)]
    assert made.nodes == {0: 3}


def test_an_empty_node_is_kept_for_the_delay_and_used_meanwhile() -> None:
    made = filled((3, 1), release_delay_s=10.0)
    assert made.leave(5.0, 5) == []
    assert made.due() == 15.0
    assert made.arrive(6.0, 99) == [Redirect(99, 1)]
    assert made.due() == math.inf
    made.leave(7.0, 99)
    assert made.tick(16.9) == []
    assert made.tick(17.0) == [Release(1)]


def test_who_waits_longer_than_its_patience_is_blocked_and_the_node_released_unused() -> None:
    made = front(patience_s=60.0)
    made.arrive(0.0, 1)
    assert made.due() == 60.0
    assert made.tick(59.9) == []
    assert made.tick(60.0) == [Block(1, "blocked")]
    assert made.ready(70.0, 0) == [Release(0)]
    assert made.books.blocked == 1


def test_a_client_may_leave_while_it_waits() -> None:
    made = front()
    made.arrive(0.0, 1)
    made.leave(1.0, 1)
    assert made.ready(2.0, 0) == [Release(0)]
    assert made.books.abandoned == 1


def test_nobody_can_leave_for_a_client_that_is_not_here() -> None:
    made = filled((3,))
    assert made.leave(1.0, 4711) == []
    assert made.books.served == 0


def test_a_failed_allocation_is_tried_again_and_then_given_up() -> None:
    made = front()
    made.arrive(0.0, 1)
    assert made.allocation_failed(1.0, 0) == [Allocate(1)]
    assert made.allocation_failed(2.0, 1) == [Allocate(2)]
    assert made.allocation_failed(3.0, 2) == [Block(1, "failed")]
    assert made.arrive(4.0, 2) == [Allocate(3)]


def test_who_waits_is_not_given_up_while_another_allocation_is_under_way() -> None:
    made = front(clients_per_node=1)
    made.arrive(0.0, 1)
    made.arrive(0.0, 2)
    assert made.allocation_failed(1.0, 1) == [Allocate(2)]
    assert made.allocation_failed(2.0, 2) == [Allocate(3)]
    assert made.allocation_failed(3.0, 3) == []
    assert made.ready(4.0, 0) == [Redirect(1, 0), Allocate(4)]


def test_clients_of_an_instance_that_died_have_failed() -> None:
    made = filled((3, 2))
    assert made.lost(5.0, 0) == []
    assert made.books.failed == 3
    assert made.nodes == {1: 2}
    assert made.leave(6.0, 0) == []


def test_the_quota_is_kept_and_who_waits_is_seated_when_there_is_room() -> None:
    made = filled((3,), most_nodes=1)
    assert made.arrive(2.0, 99) == []
    assert made.leave(3.0, 0) == [Redirect(99, 0)]


def test_warm_nodes_are_allocated_before_they_are_needed() -> None:
    made = front(clients_per_node=1, warm_nodes=2)
    assert made.start(0.0) == [Allocate(0), Allocate(1)]
    made.ready(1.0, 0)
    made.ready(1.0, 1)
    assert made.arrive(2.0, 7) == [Redirect(7, 0), Allocate(2)]
    made.ready(3.0, 2)
    assert made.leave(4.0, 7) == [Release(0)]
    assert len(made.nodes) == 2


def test_a_rising_line_is_followed_ahead_of_time() -> None:
    made = front(clients_per_node=10, predictor_window_s=100.0, predictor_horizon_s=50.0)
    for second in range(100):
        made.arrive(float(second), second)
    # 100 clients are here, and the line foresees 50 more.
    assert len(made.pending) in (14, 15)


def test_two_arrivals_an_instant_apart_are_no_trend() -> None:
    front = Front(
        Settings(
            clients_per_node=1, patience_s=60.0, predictor_window_s=10.0, predictor_horizon_s=10.0
        )
    )
    front.arrive(0.0, 1)
    front.arrive(1e-300, 2)
    assert len(front.pending) <= 4


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "leave", "abandon", "ready", "fail", "lose", "tick"]),
        st.floats(0, 20),
        st.integers(0, 30),
    ),
    max_size=120,
)
POLICIES = st.builds(
    Settings,
    clients_per_node=st.integers(1, 4),
    patience_s=st.floats(0, 30),
    choice=st.sampled_from(["most-loaded", "least-loaded"]),
    waiting=st.sampled_from(["shared", "each"]),
    warm_nodes=st.integers(0, 2),
    release_delay_s=st.sampled_from([0.0, 5.0]),
    predictor_window_s=st.sampled_from([0.0, 10.0]),
    predictor_horizon_s=st.floats(0, 20),
    most_nodes=st.none() | st.integers(1, 5),
)


class World:
    """An environment and clients around Front, which does as it is told and checks that it may."""

    def __init__(self, policy: Settings) -> None:
        self.front = Front(policy)
        self.policy = policy
        self.alive: set[int] = set()
        self.seated: set[int] = set()
        self.fresh = 1000
        self.follow(self.front.start(0.0))

    def follow(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Allocate):
                assert action.node not in self.alive
                self.alive.add(action.node)
            elif isinstance(action, Release):
                self.alive.remove(action.node)
            elif isinstance(action, Redirect):
                assert action.client not in self.seated
                self.seated.add(action.client)

    def happen(self, kind: str, now: float, pick: int) -> list[Action]:
        made = self.front
        if kind == "arrive":
            self.fresh += 1
            return made.arrive(now, self.fresh)
        subjects: dict[str, dict[int, Any]] = {
            "ready": made.pending,
            "fail": made.pending,
            "lose": made.nodes,
        }
        known = sorted(subjects.get(kind, made.place))
        if not known or kind == "tick":
            return made.tick(now)
        subject = known[pick % len(known)]
        if kind in ("fail", "lose"):
            self.alive.remove(subject)
        if kind in ("leave", "abandon"):
            return made.leave(now, subject, "abandoned" if kind == "abandon" else "served")
        act = {"ready": made.ready, "fail": made.allocation_failed, "lose": made.lost}[kind]
        return act(now, subject)

    def check(self) -> None:
        made, books = self.front, self.front.books
        ended = books.served + books.abandoned + books.blocked + books.failed
        assert books.received == ended + len(made.place) + len(made.waiting)
        assert self.alive == {*made.pending, *made.nodes}
        assert all(load <= self.policy.clients_per_node for load in made.nodes.values())
        assert sum(made.nodes.values()) == len(made.place)
        assert self.policy.most_nodes is None or len(self.alive) <= self.policy.most_nodes


@settings(max_examples=150, deadline=None)
@given(policy=POLICIES, events=EVENTS)
def test_whatever_happens_no_client_is_lost_from_the_books_and_no_instance_leaks(
    policy: Settings, events: list[tuple[str, float, int]]
) -> None:
    world = World(policy)
    now = 0.0
    for kind, later, pick in events:
        now += later
        while world.front.due() <= now:
            world.follow(world.front.tick(world.front.due()))
        world.follow(world.happen(kind, now, pick))
        world.check()
