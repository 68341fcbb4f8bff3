"""Calibration of a power model: power at several levels of load (Dutra 2015, 5.5)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from aferir.power.base import PowerError, Source, worth
from aferir.power.fit import fit
from aferir.power.load import Load, busy
from aferir.power.model import PowerModel, busy_share
from aferir.power.watch import watch

_SETTLE = 0.2
"""Share of each level's time that is discarded while fans, voltages and averages settle."""


def measure(
    source: Source,
    *,
    levels: int,
    seconds: float,
    note: Callable[[str], None],
    load: Load = "spin",
    stat: Path = Path("/proc/stat"),
) -> PowerModel:
    """Measure power and utilisation with 0 to all CPUs busy, and fit a model.

    Errors: PowerError if a level had no valid reading.
    """
    cpus = sorted(os.sched_getaffinity(0))
    counts = sorted({round(c) for c in np.linspace(0, len(cpus), levels)})
    points = []
    for count in counts:
        note(f"{count} of {len(cpus)} processors busy")
        with busy(load, cpus[:count]):
            before = stat.read_text(encoding="ascii")
            [found] = watch({"": source}, seconds=seconds, every_s=max(0.5, min(2.0, seconds / 20)))
            used = busy_share(before, stat.read_text(encoding="ascii"))
        settled = [
            power
            for at, power in zip(found.at_s, found.power_w, strict=True)
            if at >= _SETTLE * seconds
        ]
        if not settled:
            why = next(iter(found.refused), "it gave no reading")
            raise PowerError(f"no power could be read with {count} processors busy: {why}")
        points.append((used, float(np.mean(settled))))
    device = source.describe()
    said = worth(device)
    return msgspec.structs.replace(
        fit(points),
        basis=f"by {device.name}" + (f" ({said})" if said else ""),
        accuracy=device.accuracy,
    )
