"""Devices in layers, of which only the leaves count: networks and block devices alike.

What goes over a bond goes over its members, too, and what is written to a volume is written to its
disks. One rule: a device counts where nothing else that counts is below it. What is below what is
told by the kernel on the host (sysfs: `device`, `lower_*`, `slaves`), and by the kind that
a name says where only /proc is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

NETWORK = "stack:network"
BLOCKS = "stack:blocks"
"""Names of the descriptions in a snapshot of the host."""

Below = Mapping[str, tuple[str, ...]]
"""Each device with those right below it; PHYSICAL is below what is a device of its own."""

PHYSICAL = "."
_NET = Path("/sys/class/net")
_BLOCK = Path("/sys/block")

_OVER_OTHERS = re.compile(
    r"lo|(?:bond|team|br|bridge|docker|virbr|vmbr|fwbr|fwln|fwpr|cni|cbr|cni-podman|podman|lxcbr|"
    r"lxdbr|incusbr|kube|cilium|flannel|weave|antrea|ovs|vlan|vxlan|geneve|gre|gretap|erspan|sit|"
    r"ip6tnl|ip6gre|tunl|ip_vti|ip6_vti|ipip|tun|utun|wg|tailscale|nordlynx|proton|ppp|ipsec|xfrm|"
    r"l2tp|isatap|dummy|ifb|nlmon|teql|hsr|prp|bat|vrf)(?:[-_.\d].*)?|(?:cali|zt|bonding_).*"
)
"""Bridges, bonds, VLANs, VPNs and tunnels, and what leads nowhere."""
_ENDS = re.compile(r"(veth|tap|vnet|macvlan|macvtap|ipvlan|ipvtap|lxc|vif|fwtap|nk).*")
"""One end of a pair or of a guest's line: a leaf where there is nothing physical."""
_PARTITIONED = re.compile(r"(.*?)(p?)(\d+)")
_OVER_DISKS = re.compile(
    r"(loop|ram|zram|dm-|md|drbd|bcache|zd|vdo|device-mapper|flashcache|dattobd|snap)[-_]?[d]?\d+.*"
    r"|dm-.*|md_d?\d+.*|nvme\d+c\d+n\d+.*"
)
"""On disks, on files or in memory; paths of one NVMe disk, whose whole is there, too."""


def network_leaves(names: Collection[str], told: str = "") -> set[str]:
    """Devices whose traffic is all there is, each byte once; the loopback is none.

    `told`: the host's own description, empty where there is none.
    """
    below = parse(told)
    physical = {name for name in names if PHYSICAL in below.get(name, ())}
    if physical:
        return physical
    known = {name for name in names if not _is_over(name, names, below)}
    return {name for name in known if not _ENDS.fullmatch(name)} or known


def block_leaves(names: Collection[str], told: str = "") -> set[str]:
    """Whole disks with nothing of this machine below them."""
    below = parse(told)
    return {
        name
        for name in names
        if not below.get(name)
        and not _OVER_DISKS.fullmatch(name)
        and not any(disk in names for disk in _disks_of(name))
    }


def parse(told: str) -> dict[str, tuple[str, ...]]:
    """Lines such as `bond0: eth0 eth1`, as `describe_...` writes them. Errors: none."""
    found = {}
    for line in told.splitlines():
        name, colon, rest = line.rpartition(": ") if ": " in line else line.partition(":")
        if colon:
            found[name] = tuple(rest.split())
    return found


def describe_network(folder: Path = _NET) -> str:
    """What is below each network device of this host. Errors: none."""
    return _described(
        (path, [lower.name.removeprefix("lower_") for lower in path.glob("lower_*")])
        for path in _devices(folder)
    )


def describe_blocks(folder: Path = _BLOCK) -> str:
    """What is below each block device of this host. Errors: none."""
    return _described(
        (path, [slave.name for slave in path.glob("slaves/*")]) for path in _devices(folder)
    )


def _described(devices: Iterable[tuple[Path, list[str]]]) -> str:
    lines = []
    for path, below in devices:
        is_physical = path.parent.name == "net" and (path / "device").exists()
        lines.append(f"{path.name}: {' '.join([*below, *([PHYSICAL] if is_physical else [])])}\n")
    return "".join(lines)


def _devices(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_over(name: str, names: Collection[str], below: Below) -> bool:
    """Whether it is over another one: by the kernel, by its kind, or a VLAN by its name."""
    base = re.split(r"[.@:]", name, maxsplit=1)[0]
    return bool(
        any(lower in names for lower in below.get(name, ()))
        or _OVER_OTHERS.fullmatch(name)
        or (base != name and base in names)
    )


def _disks_of(name: str) -> list[str]:
    """What it is a partition of, by the kernel's rule: `sda1`, `nvme0n1p1` after a digit."""
    found = _PARTITIONED.fullmatch(name)
    if found is None:
        return []
    disk, after_digit, _ = found.groups()
    if after_digit and disk[-1:].isdigit():
        return [disk]
    whole = disk + after_digit
    return [whole] if whole and not whole[-1].isdigit() else []


DESCRIBED: Mapping[str, Callable[[], str]] = {NETWORK: describe_network, BLOCKS: describe_blocks}
"""What writes each of them."""
