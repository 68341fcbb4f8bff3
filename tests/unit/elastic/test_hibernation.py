"""Hosts of an elastic service that hibernate: placement of instances, and saved energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aferir.elastic.front import Settings
from aferir.elastic.hibernation import Hibernation, Hosts
from aferir.elastic.simulate import Load, Result, simulate


def hosts(number: int = 2, per_host: int = 2, after_s: float = 10.0, wake_s: float = 5.0) -> Hosts:
    return Hosts(Hibernation(hosts=number, per_host=per_host, after_s=after_s, wake_s=wake_s))


def test_an_instance_goes_where_others_are_and_wakes_a_host_only_where_none_has_room() -> None:
    found = hosts()
    assert found.place(1.0, 1) == 0.0, "all hosts are awake at first"
    assert found.place(20.0, 2) == 0.0, "beside the first, while the other host sleeps"
    assert found.place(21.0, 3) == 5.0, "the first is full"
    assert found.place(23.0, 4) == 3.0, "that host is still waking"
    assert found.place(40.0, 5) == 0.0, "all are full: the emptiest takes one more"
    assert found.use(40.0).wakes == 1


def test_what_is_asleep_is_not_awake() -> None:
    found = hosts()
    found.place(1.0, 1)
    found.release(50.0, 1)
    found.release(50.0, 7)
    use = found.use(100.0)
    assert (use.asleep_s, use.awake_s) == (90.0 + 40.0, 200.0 - 130.0)
    assert use.energy_j(100.0, 10.0) == 100.0 * 70.0 + 10.0 * 130.0
    assert hosts(after_s=math.inf).use(100.0).asleep_s == 0.0


@pytest.mark.parametrize("wrong", ["hosts", "per_host", "after_s", "wake_s"])
def test_an_impossible_host_is_refused(wrong: str) -> None:
    values = {"hosts": 1, "per_host": 1, "after_s": 1.0, "wake_s": 1.0}
    with pytest.raises(ValueError, match="hibernation"):
        Hibernation(**{**values, wrong: -1})  # type: ignore[arg-type]


def run(after_s: float, wake_s: float) -> Result:
    settings = Settings(clients_per_node=5, patience_s=15.0)
    load = Load(clients=200, interarrival_s=10.0, video_s=60.0)
    rng = np.random.default_rng(1)
    sleeping = Hibernation(hosts=4, per_host=1, after_s=after_s, wake_s=wake_s)
    return simulate(settings, load, rng, lambda: 10.0, hibernation=sleeping)


def test_hosts_that_sleep_save_energy_and_block_those_who_wait_for_them() -> None:
    awake, quick, slow = run(math.inf, 30.0), run(20.0, 2.0), run(20.0, 30.0)
    assert awake.use is not None
    assert quick.use is not None
    assert slow.use is not None
    assert awake.use.asleep_s == awake.use.wakes == 0
    assert quick.use.asleep_s > 0
    assert quick.books.blocked == awake.books.blocked, "10 s and 2 s are within the patience"
    assert slow.books.blocked > quick.books.blocked
    assert slow.accounted
