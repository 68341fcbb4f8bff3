"""Probes of the host and the instance during a run: one file each."""

from __future__ import annotations

from aferir.probes.base import Probe
from aferir.probes.block import BlockProbe
from aferir.probes.cpu import CpuProbe
from aferir.probes.io import IoProbe
from aferir.probes.memory import MemoryProbe
from aferir.probes.network import NetworkProbe
from aferir.probes.others import OthersProbe
from aferir.probes.switches import SwitchesProbe


def all_probes() -> tuple[Probe, ...]:
    """Every probe that reads files; the core frequency is measured by a program of its own."""
    return (
        CpuProbe(),
        MemoryProbe(),
        BlockProbe(),
        IoProbe(),
        NetworkProbe(),
        SwitchesProbe(),
        OthersProbe(),
    )
