"""The network that joins the instances of one environment on several hosts."""

from __future__ import annotations

import ipaddress

import msgspec

PACKAGES = ("openssh-client", "openssh-server")
"""Debian packages by which the first instance starts programs in the others."""
_NETWORK = ipaddress.ip_network("10.78.0.0/16")
PREFIX = _NETWORK.prefixlen
"""Length of the network's prefix in bits."""
PORT = 4789
"""UDP port of VXLAN (RFC 7348, 5), on which the kernel receives frames."""
MOST_NUMBER = 2**24 - 1
"""Largest VXLAN Network Identifier (RFC 7348, 5)."""


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """An Ethernet among instances on several hosts, as one of them sees it: a VXLAN (RFC 7348)."""

    number: int
    """VXLAN Network Identifier, which distinguishes this network from others of the same hosts."""
    names: tuple[str, ...]
    """Host name of each instance."""
    hosts: tuple[str, ...]
    """Address of the host of each instance, at which it receives frames in UDP."""
    place: int
    """Place of this instance in `names` and `hosts`, from 0."""

    @property
    def name(self) -> str:
        """Host name of this instance."""
        return self.names[self.place]

    @property
    def address(self) -> str:
        """Address of this instance in the network."""
        return self.addresses[self.place]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Address of each instance in the network, which no host is part of."""
        return tuple(str(_NETWORK[place + 1]) for place in range(len(self.names)))

    @property
    def mac(self) -> str:
        """MAC address of this instance, locally administered."""
        high, low = divmod(self.place + 1, 256)
        return f"02:00:0a:4e:{high:02x}:{low:02x}"

    @property
    def peers(self) -> tuple[str, ...]:
        """Addresses of the hosts of all other instances."""
        return (*self.hosts[: self.place], *self.hosts[self.place + 1 :])
