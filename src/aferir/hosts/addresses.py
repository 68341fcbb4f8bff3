"""Addresses by which the hosts of one environment reach each other."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence

from aferir.errors import AferirError
from aferir.linux import process


def own() -> tuple[str, ...]:
    """Addresses of this host's interfaces with prefix lengths, without loopback; () if unknown."""
    try:
        done = process.run(
            ["ip", "-json", "address", "show", "up", "scope", "global"], timeout_s=60, check=False
        )
        return listed(done.stdout or "[]")
    except (AferirError, ValueError):
        return ()


def listed(text: str) -> tuple[str, ...]:
    """Parse the JSON of ip(8), in which an address of a scope that was not asked for is `{}`.

    Errors: ValueError if it is no JSON.
    """
    return tuple(
        f"{address['local']}/{address['prefixlen']}"
        for link in json.loads(text)
        for address in link.get("addr_info", ())
        if "local" in address
    )


def of_each(networks: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Choose one address of each host, if possible on a network that it shares with the first host.

    `networks` holds the addresses of each host with prefix lengths. Without a shared network it is
    the host's first address; for a host without addresses it is empty.
    """
    first = [ipaddress.ip_interface(one).network for one in networks[0]]
    last = [ipaddress.ip_interface(one).network for one in networks[-1]]
    return (
        _within(networks[0], last),
        *(_within(one, first) for one in networks[1:]),
    )


def _within(
    have: Sequence[str], wanted: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> str:
    found = [ipaddress.ip_interface(one) for one in have]
    shared = [one for one in found if any(one.ip in network for network in wanted)]
    return str((shared or found)[0].ip) if found else ""
