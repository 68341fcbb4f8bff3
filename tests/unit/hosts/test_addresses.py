"""Addresses by which hosts of one environment reach each other."""

from __future__ import annotations

from aferir.hosts.addresses import listed, of_each


def test_the_shared_network_is_taken_whatever_else_there_is() -> None:
    first = ("192.168.1.5/24", "10.0.1.1/24")
    assert of_each([first, ("172.16.0.2/16", "10.0.1.2/24")]) == ("10.0.1.1", "10.0.1.2")
    assert of_each([first, ("10.0.1.2/24",), ("10.0.1.3/24",)]) == (
        "10.0.1.1",
        "10.0.1.2",
        "10.0.1.3",
    )
    assert of_each([("fd00::1/64", "10.0.1.1/24"), ("fd00::2/64",)]) == ("fd00::1", "fd00::2")


def test_without_a_shared_network_the_first_address_is_as_good_as_any() -> None:
    assert of_each([("10.0.1.1/24",), ("10.9.0.2/24", "10.8.0.2/24")]) == ("10.0.1.1", "10.9.0.2")
    assert of_each([("10.0.1.1/24",), ()]) == ("10.0.1.1", "")


def test_addresses_of_another_scope_are_empty_in_what_ip_says() -> None:
    own = '{"family":"inet","local":"10.0.1.1","prefixlen":24,"scope":"global"}'
    assert listed(f'[{{}},{{"ifname":"eth0","addr_info":[{own},{{}}]}}]') == ("10.0.1.1/24",)
