"""Finds the lowest of layered devices, network or block, so that no byte is counted twice.

Traffic over a bond goes over its members as well, and a write to a volume is one to its disks. The
rule: a device counts if no other device that counts is below it. Layers are known from the host's
kernel (sysfs: `device`, `lower_*`, `slaves`), or from names if only /proc is available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

NETWORK = "stack:network"
BLOCKS = "stack:blocks"
"""Names, in a snapshot, of the descriptions of how network and block devices are layered."""

Below = Mapping[str, tuple[str, ...]]
"""Devices directly below each device; PHYSICAL is below hardware devices."""

PHYSICAL = "."
_NET = Path("/sys/class/net")
_BLOCK = Path("/sys/block")

_OVER_OTHERS = re.compile(
    r"lo|(?:bond|team|br|bridge|docker|virbr|vmbr|fwbr|fwln|fwpr|cni|cbr|cni-podman|podman|lxcbr|"
    r"lxdbr|incusbr|kube|cilium|flannel|weave|antrea|ovs|vlan|vxlan|geneve|gre|gretap|erspan|sit|"
    r"ip6tnl|ip6gre|tunl|ip_vti|ip6_vti|ipip|tun|utun|wg|tailscale|nordlynx|proton|ppp|ipsec|xfrm|"
    r"l2tp|isatap|dummy|ifb|nlmon|teql|hsr|prp|bat|vrf|azure|vti|vmnet|nebula|ovpn|nodelocaldns|"
    r"genev_sys|rmnet_data|p2p-dev)(?:[-_.\d].*)?|(?:cali|zt|bonding_).*"
)
"""Names of bridges, bonds, VLANs, VPNs and tunnels, and of devices that lead nowhere."""
_ENDS = re.compile(
    r"(veth|tap|vnet|macvlan|macvtap|ipvlan|ipvl|ipvtap|lxc|vif|fwtap|nk|azv).*"
    r"|(eni|gke)[0-9a-f]{8,}"
)
"""Names of ends of a pair of interfaces or of a guest's link: they count only if there is no
physical device.
"""
_PARTITIONED = re.compile(r"(.*?)(p?)(\d+)")
_OVER_DISKS = re.compile(
    r"(loop|ram|zram|dm-|md|drbd|bcache|zd|vdo|device-mapper|flashcache|dattobd|snap)[-_]?[d]?\d+.*"
    r"|dm-.*|md_.*|emcpower[a-z]+\d*"
)
"""Names of devices that store their data on other devices, in files, or in memory."""
_NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")
"""Path to an NVMe disk: kernels count requests of the disk here, or here and at the disk."""


def network_leaves(names: Collection[str], told: str = "") -> set[str]:
    """Devices that carry all traffic, each byte once, without loopback.

    `told`: the host's own description, "" if there is none.
    """
    below = parse(told)
    physical = {name for name in names if PHYSICAL in below.get(name, ())}
    if physical:  # one over another is a port of a switch, or a card over its virtual function
        return {name for name in physical if physical.isdisjoint(below[name])} or physical
    known = {name for name in names if not _is_over(name, names, below)}
    return {name for name in known if not _ENDS.fullmatch(name)} or known


def block_leaves(names: Collection[str], told: str = "") -> set[str]:
    """Whole disks with no other device of this machine below them."""
    below = parse(told)
    heads = {"".join(found.groups()) for name in names if (found := _NVME_PATH.fullmatch(name))}
    return {
        name
        for name in names
        if name not in heads
        and not below.get(name.replace("/", "!"))  # sysfs(5) has no slash in a name
        and not _OVER_DISKS.fullmatch(name)
        and not any(disk in names for disk in _disks_of(name))
    }


def parse(told: str) -> dict[str, tuple[str, ...]]:
    """Parse lines such as `bond0: eth0 eth1`, as `describe_...` writes them. Errors: none."""
    found = {}
    for line in told.splitlines():
        name, colon, rest = line.rpartition(": ") if ": " in line else line.partition(":")
        if colon:
            found[name] = tuple(rest.split())
    return found


def describe_network(folder: Path = _NET) -> str:
    """Description of what is below each network device of this host. Errors: none."""
    return _described(
        (path, [lower.name.removeprefix("lower_") for lower in path.glob("lower_*")])
        for path in _devices(folder)
    )


def describe_blocks(folder: Path = _BLOCK) -> str:
    """Description of what is below each block device of this host. Errors: none."""
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
    """Whether a device is above another, by the kernel, by its type, or as a VLAN by its name."""
    base = re.split(r"[.@:]", name, maxsplit=1)[0]
    return bool(
        any(lower in names for lower in below.get(name, ()))
        or _OVER_OTHERS.fullmatch(name)
        or (base != name and base in names)
        or (name.endswith("mon") and name[:-3] in names)  # a monitor of aircrack-ng(1)
    )


def _disks_of(name: str) -> list[str]:
    """The disk of a partition by the kernel's naming: `sda1`, or `nvme0n1p1` after a digit."""
    found = _PARTITIONED.fullmatch(name)
    if found is None:
        return []
    disk, after_digit, _ = found.groups()
    if after_digit and disk[-1:].isdigit():
        return [disk]
    whole = disk + after_digit
    return [whole] if whole and not whole[-1].isdigit() else []


DESCRIBED: Mapping[str, Callable[[], str]] = {NETWORK: describe_network, BLOCKS: describe_blocks}
"""Function that writes each description, by the description's name in a snapshot."""
