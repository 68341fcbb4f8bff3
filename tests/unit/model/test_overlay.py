"""The network among instances of several hosts, as each of them sees it."""

from __future__ import annotations

import msgspec

from aferir.model.overlay import Overlay

HOSTS = tuple(f"192.0.2.{number}" for number in range(1, 4))
FIRST = Overlay(number=7, names=("a", "b", "c"), hosts=HOSTS, place=0)


def test_each_instance_has_addresses_of_its_own_and_sends_to_all_other_hosts() -> None:
    each = [msgspec.structs.replace(FIRST, place=place) for place in range(3)]
    assert [one.name for one in each] == ["a", "b", "c"]
    assert tuple(one.address for one in each) == FIRST.addresses
    assert len({one.mac for one in each} | set(FIRST.addresses)) == 6
    assert [one.peers for one in each] == [
        (HOSTS[1], HOSTS[2]),
        (HOSTS[0], HOSTS[2]),
        (HOSTS[0], HOSTS[1]),
    ]


def test_a_thousand_hosts_have_room() -> None:
    names = tuple(f"node{number}" for number in range(1000))
    last = Overlay(number=7, names=names, hosts=names, place=999)
    assert (last.address, last.mac) == ("10.78.3.232", "02:00:0a:4e:03:e8")
