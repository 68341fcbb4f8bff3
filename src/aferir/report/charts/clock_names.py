"""Names of simulated clusters and times, shared by tables and charts."""

from __future__ import annotations

from aferir.clock.results import Moment, Simulation
from aferir.report.formatting import quantity


def layout_name(simulation: Simulation) -> str:
    """Name of a simulated cluster's topology, for people."""
    if simulation.topology != "tree":
        return simulation.topology
    return f"tree, {simulation.arity} each" if simulation.arity else "tree, doubling"


def moment_name(moment: Moment, hold_s: float) -> str:
    """Name of the time at which clocks are judged, for people."""
    names: dict[Moment, str] = {
        "set": "as each node is set",
        "all-set": "as the last node is set",
        "rated": "after the second look",
        "held": f"{duration(hold_s)} later",
        "held-unrated": f"{duration(hold_s)} later, one look alone",
    }
    return names[moment]


def duration(seconds: float) -> str:
    """A duration for people: `24 h`, `10 min`, `2.5 s`."""
    if seconds < 60:
        return quantity(seconds, "s")
    factor, unit = (3600, "h") if seconds >= 3600 else (60, "min")
    return f"{seconds / factor:.3g} {unit}"


def inside(share: float) -> str:
    """Share of clocks inside their bounds, never rounded up to 100 %."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9999):.4f} %"
