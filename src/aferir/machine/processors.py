"""Topology of CPUs: threads of the same core, and NUMA nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from aferir.machine import parse

_FOLDER = Path("/sys/devices/system/cpu")
_NODE = re.compile(r"node(\d+)")


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """One CPU in the kernel's numbering: a core, or one of its hardware threads (SMT)."""

    number: int
    core: int
    """Identifier shared by all threads of a core: the number of its first thread."""
    package: int = 0
    memory: int = 0
    """NUMA node of the CPU."""


def read(numbers: Iterable[int], folder: Path = _FOLDER) -> tuple[Processor, ...]:
    """Topology of the CPUs `numbers`; one whose topology is unknown is its own core.

    Source: Documentation/ABI/stable/sysfs-devices-system-cpu.
    """
    return tuple(_read(number, folder / f"cpu{number}") for number in numbers)


def _read(number: int, folder: Path) -> Processor:
    nodes = [int(found[1]) for p in folder.glob("node*") if (found := _NODE.fullmatch(p.name))]
    return Processor(
        number=number,
        core=_core(folder / "topology", number),
        package=_whole(folder / "topology/physical_package_id", 0),
        memory=min(nodes, default=0),
    )


def _core(topology: Path, number: int) -> int:
    """Core of a CPU, identified by its first thread.

    Core ids are not used, because they repeat in other dies and clusters.
    """
    for name in ("core_cpus_list", "thread_siblings_list"):
        if threads := parse.cpu_list(_text(topology / name)):
            return threads[0]
    return _whole(topology / "core_id", number)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _whole(path: Path, otherwise: int) -> int:
    try:
        value = int(_text(path))
    except ValueError:
        return otherwise
    return value if value >= 0 else otherwise
