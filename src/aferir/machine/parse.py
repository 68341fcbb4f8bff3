"""Parses the kernel's text files: pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


class Processor(msgspec.Struct, frozen=True):
    """First CPU of /proc/cpuinfo."""

    model: str
    hypervisor: bool
    """True if the CPU flag of hypervisors is set (CPUID leaf 1, ECX bit 31)."""
    flags: tuple[str, ...]


class Cache(msgspec.Struct, frozen=True):
    """One cache of a CPU."""

    level: int
    kind: str
    size_bytes: int
    shared_by: int
    """Number of CPUs that share it."""


def processor(cpuinfo: str) -> Processor:
    """First block of /proc/cpuinfo; on ARM the model is composed of implementer and part.

    Other architectures have other keys for it: `cpu` on POWER, `uarch` on RISC-V, `machine` on
    s390, each in its own kernel's arch/*/kernel.
    """
    fields: dict[str, str] = {}
    for line in cpuinfo.split("\n\n", 1)[0].splitlines():
        key, separator, value = line.partition(":")
        if separator:
            fields[key.strip()] = value.strip()
    arm = f"{fields.get('CPU implementer', '')} {fields.get('CPU part', '')}".strip()
    flags = tuple((fields.get("flags") or fields.get("Features") or "").split())
    named = (fields[key] for key in ("model name", "Model Name", "cpu", "uarch") if fields.get(key))
    mainframe = re.search(r"^processor 0:.*\bmachine = (\w+)", cpuinfo, re.MULTILINE)
    model = next(named, arm) or (f"s390 {mainframe[1]}" if mainframe else "unknown")
    return Processor(model, "hypervisor" in flags, flags)


def meminfo_bytes(meminfo: str, key: str = "MemTotal") -> int:
    """Value of one line of /proc/meminfo in bytes; 0 if it is missing."""
    found = re.search(rf"^{re.escape(key)}:\s*(\d+)(?: kB)?$", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def size_bytes(text: str) -> int:
    """A size of sysfs such as `32K` or `1M` in bytes; 0 if it cannot be parsed."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(found[1]) * _SIZES[found[2]] if found else 0


def cpu_list(text: str) -> tuple[int, ...]:
    """CPUs of a list such as `0-3,8` (cpuset(7), list format)."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if found:
            first = int(found[1])
            cpus.update(range(first, int(found[2] or first) + 1))
    return tuple(sorted(cpus))


def key_values(text: str) -> dict[str, str]:
    """Values of a file of shell assignments such as os-release(5)."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and not key.startswith("#"):
            values[key] = value.strip("\"'")
    return values


def chosen(text: str) -> str:
    """Word in brackets: `madvise` of `always [madvise] never`; the text itself if there is none."""
    found = re.search(r"\[([^]]*)\]", text)
    return found[1] if found else text.strip()


def steal_s(stat: str, ticks_per_s: int) -> float:
    """CPU time in s that the hypervisor gave to other guests since boot (proc(5), /proc/stat)."""
    fields = stat.split("\n", 1)[0].split()
    if fields[:1] != ["cpu"] or len(fields) < 9 or not fields[8].isdigit():
        return 0.0
    return int(fields[8]) / ticks_per_s


def load(loadavg: str) -> tuple[float, float, float]:
    """Load averages of /proc/loadavg; zeros if it cannot be parsed."""
    try:
        one, five, fifteen = (float(field) for field in loadavg.split()[:3])
    except ValueError:
        return (0.0, 0.0, 0.0)
    return (one, five, fifteen)


def virtualisation(dmi: str, *, hypervisor: bool, container: str, kvm_clock: bool) -> str:
    """Hypervisor of this machine, as named by systemd-detect-virt(1); else `none`.

    `dmi` is vendor and product from /sys/class/dmi/id, `container` the variable of that name in the
    environment of process 1. A machine without DMI but with KVM's paravirtual clock (Firecracker,
    microvm) is `kvm`.
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
    """Caches sorted by level, without duplicates."""
    return tuple(sorted(set(caches), key=lambda cache: (cache.level, cache.kind)))
