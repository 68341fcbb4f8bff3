"""Allocations that delay one another, in cases that can be computed by hand."""

from __future__ import annotations

import math

import msgspec
import pytest

from aferir.elastic.contention import Contention, Underway


def ready(shared: Contention, requests: list[tuple[float, float]]) -> dict[int, float]:
    """Times at which requests (time, seconds alone) are ready, by their number."""
    underway, found = Underway(shared), {}
    coming = list(enumerate(requests))
    while coming or underway.due() < math.inf:
        if coming and coming[0][1][0] <= underway.due():
            node, (asked, alone_s) = coming.pop(0)
            underway.add(asked, node, alone_s)
            continue
        now = underway.due()
        node_ready = underway.advance(now)
        if node_ready is not None:
            found[node_ready] = now
    return found


def test_what_shares_nothing_takes_its_time_alone() -> None:
    assert ready(Contention(), [(0, 10), (1, 4), (1, 10)]) == {0: 10, 1: 5, 2: 11}


def test_a_single_allocation_takes_its_time_alone_whatever_is_shared() -> None:
    shared = Contention(hosts=1, scheduler_share=0.25, store_share=0.5)
    assert ready(shared, [(0, 8), (100, 8)]) == {0: 8, 1: 108}


def test_two_copies_at_once_take_twice_as_long() -> None:
    """Copies of 6 s from 0 s and from 3 s share the link until 9 s and 12 s; boots take 4 s."""
    found = ready(Contention(store_share=0.6), [(0, 10), (3, 10)])
    assert found == pytest.approx({0: 9 + 4, 1: 12 + 4})


def test_a_host_carries_out_one_allocation_at_once_and_the_others_wait_in_order() -> None:
    assert ready(Contention(hosts=1), [(0, 10), (1, 10), (2, 5)]) == {0: 10, 1: 20, 2: 25}
    assert ready(Contention(hosts=1, at_once=2), [(0, 10), (1, 10), (2, 5)]) == {
        0: 10,
        1: 11,
        2: 15,
    }


def test_the_scheduler_places_one_request_after_another() -> None:
    shared = Contention(scheduler_share=0.5)
    assert ready(shared, [(0, 4), (0, 4), (1, 8)]) == {0: 4, 1: 6, 2: 12}


def test_an_allocation_that_never_ends_disturbs_nobody() -> None:
    assert ready(Contention(hosts=1), [(0, math.inf), (1, 3)]) == {1: 4}


def test_a_store_whose_link_takes_two_copies_is_shared_from_the_third_on() -> None:
    """Three copies of 6 s share two links until 9 s; boots take 4 s."""
    found = ready(Contention(store_share=0.6, store_link=2), [(0, 10), (0, 10)])
    assert found == pytest.approx({0: 10, 1: 10})
    found = ready(Contention(store_share=0.6, store_link=2), [(0, 10), (0, 10), (0, 10)])
    assert found == pytest.approx({0: 9 + 4, 1: 9 + 4, 2: 9 + 4})


def test_racks_share_their_own_links_and_what_they_leave_goes_to_others() -> None:
    """The full rack has 1 copy's rate for 2 copies of 6 s; the third goes to the other rack."""
    racks = Contention(hosts=4, racks=2, rack_link=1, store_share=0.6, store_link=2)
    packed = msgspec.structs.replace(racks, placement="packed")
    assert ready(packed, [(0, 10)] * 3) == pytest.approx({0: 12 + 4, 1: 12 + 4, 2: 6 + 4})


def test_placement_spreads_allocations_over_racks_or_packs_them() -> None:
    racks = Contention(hosts=4, racks=2, rack_link=1, store_share=0.6, store_link=4)
    packed = msgspec.structs.replace(racks, placement="packed")
    assert ready(racks, [(0, 10), (0, 10)]) == pytest.approx({0: 10, 1: 10})
    assert ready(packed, [(0, 10), (0, 10)]) == pytest.approx({0: 16, 1: 16})


def test_hosts_that_racks_do_not_divide_all_carry_out_allocations() -> None:
    three = Contention(hosts=3, racks=2)
    assert ready(three, [(0, 10)] * 4) == {0: 10, 1: 10, 2: 10, 3: 20}


@pytest.mark.parametrize(
    "wrong",
    [
        {"hosts": 0},
        {"racks": 0},
        {"hosts": 2, "racks": 3},
        {"store_link": 0.5},
        {"rack_link": math.nan},
        {"placement": "anywhere"},
        {"at_once": 0},
        {"store_share": -0.1},
        {"store_share": 0.7, "scheduler_share": 0.4},
    ],
)
def test_impossible_values_of_contention_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least one|from 0 to 1|spread or packed"):
        Contention(**wrong)  # type: ignore[arg-type]
