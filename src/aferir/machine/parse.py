"""Pure readers of the kernel's text files: text in, values out."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


class Processor(msgspec.Struct, frozen=True):
    """What /proc/cpuinfo says of the first CPU."""

    model: str
    hypervisor: bool
    """The flag that a hypervisor sets for its guests (CPUID leaf 1, ECX bit 31)."""
    flags: tuple[str, ...]


class Cache(msgspec.Struct, frozen=True):
    """One level of one CPU's caches."""

    level: int
    kind: str
    size_bytes: int
    shared_by: int
    """CPUs that share it."""


def processor(cpuinfo: str) -> Processor:
    """The first block of /proc/cpuinfo; on ARM the model is its implementer and part."""
    fields: dict[str, str] = {}
    for line in cpuinfo.split("\n\n", 1)[0].splitlines():
        key, separator, value = line.partition(":")
        if separator:
            fields[key.strip()] = value.strip()
    arm = f"{fields.get('CPU implementer', '')} {fields.get('CPU part', '')}".strip()
    flags = tuple((fields.get("flags") or fields.get("Features") or "").split())
    model = fields.get("model name") or arm or "unknown"
    return Processor(model, "hypervisor" in flags, flags)


def meminfo_bytes(meminfo: str, key: str = "MemTotal") -> int:
    """One line of /proc/meminfo in bytes; 0 where it is missing."""
    found = re.search(rf"^{re.escape(key)}:\s*(\d+)(?: kB)?$", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def size_bytes(text: str) -> int:
    """`32K`, `1M` of sysfs in bytes; 0 where it cannot be read."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(found[1]) * _SIZES[found[2]] if found else 0


def cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as the kernel writes sets of CPUs (cpuset(7), list format)."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if found:
            first = int(found[1])
            cpus.update(range(first, int(found[2] or first) + 1))
    return tuple(sorted(cpus))


def key_values(text: str) -> dict[str, str]:
    """A file of shell assignments such as os-release(5)."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and not key.startswith("#"):
            values[key] = value.strip("\"'")
    return values


def chosen(text: str) -> str:
    """`madvise` out of `always [madvise] never`; the text itself where nothing is chosen."""
    found = re.search(r"\[([^]]*)\]", text)
    return found[1] if found else text.strip()


def steal_s(stat: str, ticks_per_s: int) -> float:
    """CPU time that the hypervisor gave to others, all CPUs, since boot (proc(5), /proc/stat)."""
    fields = stat.split("\n", 1)[0].split()
    if fields[:1] != ["cpu"] or len(fields) < 9 or not fields[8].isdigit():
        return 0.0
    return int(fields[8]) / ticks_per_s


def load(loadavg: str) -> tuple[float, float, float]:
    """The three averages of /proc/loadavg; zeros where it cannot be read."""
    try:
        one, five, fifteen = (float(field) for field in loadavg.split()[:3])
    except ValueError:
        return (0.0, 0.0, 0.0)
    return (one, five, fifteen)


def virtualisation(dmi: str, *, hypervisor: bool, container: str, kvm_clock: bool) -> str:
    """Who virtualises this machine, as systemd-detect-virt(1) would call it; `none` else.

    `dmi` is vendor and product from /sys/class/dmi/id, `container` the variable of that name in
    the environment of process 1. A machine without DMI and with the paravirtual clock of KVM
    (Firecracker, microvm) is `kvm`.
    """
    if container:
        return container
    for mark, name in _VENDORS:
        if mark.lower() in dmi.lower():
            return name
    if hypervisor:
        return "kvm" if kvm_clock else "unknown"
    return "none"


_VENDORS: tuple[tuple[str, str], ...] = (
    ("KVM", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("OpenStack", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Microsoft Corporation Virtual Machine", "microsoft"),
)


def unique_caches(caches: Iterable[Cache]) -> tuple[Cache, ...]:
    """Caches in order of level, each kind once."""
    return tuple(sorted(set(caches), key=lambda cache: (cache.level, cache.kind)))
