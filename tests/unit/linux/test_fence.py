"""Rules that keep strangers out of a network of several hosts."""

from __future__ import annotations

import pytest

from aferir.linux import fence
from aferir.model.overlay import Overlay


@pytest.mark.parametrize(
    ("hosts", "strangers"),
    [
        (("10.0.1.1", "10.0.1.2", "10.0.1.3"), "ip saddr != { 10.0.1.1, 10.0.1.3 }"),
        (("fd00::1", "fd00::2"), "ip6 saddr != { fd00::1 }"),
    ],
    ids=["ipv4", "ipv6"],
)
def test_packets_of_the_network_pass_from_its_other_hosts_alone(
    hosts: tuple[str, ...], strangers: str
) -> None:
    overlay = Overlay(number=77, names=hosts, hosts=hosts, place=1)
    rules = fence.rules("own", overlay)
    assert f"{strangers} udp dport 4789 @th,96,24 77 counter drop" in rules
