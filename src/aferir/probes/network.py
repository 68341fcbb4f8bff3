"""Network traffic, and TCP's retransmissions and reordering."""

from __future__ import annotations

import re

from aferir.model.record import Sample, Side
from aferir.probes.base import Snapshot, risen
from aferir.probes.stack import NETWORK, network_leaves

_DEVICES = "/proc/net/dev"
_SNMP = "/proc/net/snmp"
_NETSTAT = "/proc/net/netstat"
_TRAFFIC = {
    "network_receive_bytes": (0, "B"),
    "network_receive_packets": (1, "packets"),
    "network_transmit_bytes": (8, "B"),
    "network_transmit_packets": (9, "packets"),
}
_EACH = ("network_receive_bytes", "network_transmit_bytes")
"""Metrics that are also reported for each device, if several devices carry the traffic."""
_MOST_DEVICES = 16
"""Number of devices above which none is reported alone: a host of many guests has a link for each.
"""
_TCP = {
    "tcp_retransmitted_segments": (_SNMP, "Tcp", "RetransSegs"),
    "tcp_out_of_order_segments": (_NETSTAT, "TcpExt", "TCPOFOQueue"),
}


def parse_devices(text: str) -> dict[str, tuple[int, ...]]:
    """The 16 counters of each device in /proc/net/dev (proc(5)), including loopback."""
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) == 16 and all(field.isdecimal() for field in fields):
            found[name.strip()] = tuple(map(int, fields))
    return found


def parse_counters(text: str) -> dict[str, dict[str, int]]:
    """Parse /proc/net/snmp or netstat: pairs of lines, names then values, with the same prefix."""
    found: dict[str, dict[str, int]] = {}
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        prefix, _, keys = names.partition(":")
        same, _, numbers = values.partition(":")
        if prefix == same and all(n.lstrip("-").isdecimal() for n in numbers.split()):
            pairs = zip(keys.split(), map(int, numbers.split()), strict=False)
            found[prefix] = dict(pairs)
    return found


class NetworkProbe:
    """Traffic over the leaf devices, loopback separately, and TCP's retransmissions."""

    name = "network"

    def paths(self, side: Side) -> tuple[str, ...]:
        """Counters of the network namespace in which they are read."""
        files = (_DEVICES, _SNMP, _NETSTAT)
        return (*files, NETWORK) if side == "host" else files

    def samples(
        self, before: Snapshot, after: Snapshot, elapsed_s: float, side: Side
    ) -> tuple[Sample, ...]:
        """Bytes and packets each way, loopback bytes, retransmitted and out-of-order segments.

        If several devices carry the traffic, e.g. the members of a bond, the bytes of each are
        `network_receive_bytes_of_NAME` and `network_transmit_bytes_of_NAME`. A figure is omitted if
        a counter fell: on a 32-bit kernel it wraps around, and a driver that is reloaded resets it.
        """
        return (*_traffic(before, after, side), *_repairs(before, after, side))


def _traffic(before: Snapshot, after: Snapshot, side: Side) -> list[Sample]:
    if _DEVICES not in before or _DEVICES not in after:
        return []
    first, last = parse_devices(before[_DEVICES]), parse_devices(after[_DEVICES])
    known = first.keys() & last.keys()
    leaves = network_leaves(known, after.get(NETWORK, ""))
    wanted = [(metric, leaves, i, unit) for metric, (i, unit) in _TRAFFIC.items()]
    if 1 < len(leaves) <= _MOST_DEVICES:
        wanted += [
            (f"{metric}_of_{_word(device)}", {device}, i, unit)
            for metric, (i, unit) in _TRAFFIC.items()
            if metric in _EACH
            for device in sorted(leaves)
        ]
    if "lo" in known:
        wanted.append(("network_loopback_bytes", {"lo"}, 0, "B"))
    return [
        Sample(metric, value, unit, side)
        for metric, devices, i, unit in wanted
        if (value := risen((first[d][i], last[d][i]) for d in devices)) is not None
    ]


def _word(device: str) -> str:
    """Device's name as a part of a metric's name: `eth0@if7` is `eth0_if7`."""
    return re.sub(r"[^A-Za-z0-9]", "_", device)


def _repairs(before: Snapshot, after: Snapshot, side: Side) -> list[Sample]:
    found = []
    for metric, (path, prefix, key) in _TCP.items():
        first = parse_counters(before.get(path, "")).get(prefix, {})
        last = parse_counters(after.get(path, "")).get(prefix, {})
        if key in first and key in last and last[key] >= first[key]:
            found.append(Sample(metric, float(last[key] - first[key]), "segments", side))
    return found
