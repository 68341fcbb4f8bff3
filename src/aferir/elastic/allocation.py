"""Step 2: the time to allocate and to release an instance, phase by phase."""

from __future__ import annotations

import time
from collections.abc import Sequence

from aferir.clouds.base import Cloud, Phase
from aferir.model.record import Sample, Series, Warning
from aferir.programs.figures import Figures

PROGRAM = "elastic-allocation"
_AGREES = 0.1
"""Relative difference between the sum of the phases and a timer outside the cloud above which a
warning is issued.
"""


def allocate_once(cloud: Cloud) -> Figures:
    """Allocate and release one instance. Errors: those of the cloud."""
    asked = time.perf_counter()
    server = cloud.create()
    ready = time.perf_counter()
    released_s = cloud.delete(server.name)
    outside_s = ready - asked
    phases = {phase.name: phase.seconds for phase in server.phases if phase.seconds is not None}
    return Figures(
        program=PROGRAM,
        samples=(
            Sample("duration_s", outside_s, "s"),
            Sample("tar_s", server.total_s, "s"),
            *(Sample(f"{name.lower()}_s", seconds, "s") for name, seconds in phases.items()),
            Sample("tlr_s", released_s, "s"),
        ),
        series=(
            Series(
                metric="phase_s",
                unit="s",
                values=(*phases.values(), released_s),
                along="phase",
                at=(*phases, "TlR"),
            ),
        ),
        doubts=doubts(server.phases, outside_s),
    )


def doubts(phases: Sequence[Phase], outside_s: float) -> tuple[Warning, ...]:
    """Warnings about phases that cannot be observed, and phases that do not add up to the total."""
    found = [
        Warning("not-observable", f"{phase.name} cannot be observed: {phase.source}")
        for phase in phases
        if phase.seconds is None
    ]
    total_s = sum(phase.seconds or 0.0 for phase in phases)
    if abs(total_s - outside_s) > _AGREES * outside_s:
        said = f"the phases add up to {total_s:.3f} s, and a stopwatch outside says {outside_s:.3f}"
        found.append(Warning("phases-differ", said, "do not compare these phases with others"))
    return tuple(found)
