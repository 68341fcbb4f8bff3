"""Rows of the tables of I/O costs, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from statistics import fmean

from aferir.report.formatting import NOTHING, labelled, percent, quantity
from aferir.report.io_costs import LAYERS, STATES
from aferir.report.model import IoCell, IoProjection, IoStudy
from aferir.statistics.estimates import Estimate, mean_of
from aferir.statistics.io_cost import Uncertain
from aferir.statistics.scaling import Projection

_MILLION = 1e6


def cost_header(study: IoStudy) -> tuple[str, ...]:
    """Header of `costs`: cycles by layer, which add up, and energies for each idle power."""
    idle = [f"{100 * share:.0f} %" for share in study.server.idle_fractions]
    return (
        *("group", "environment", "n", "operations", "cycles per operation"),
        *("user cycles", "system cycles", "virtualisation cycles"),
        *(f"J per operation, idle {share}" for share in idle),
        *(f"J per million, idle {share}" for share in idle),
        *(f"J per result, idle {share}" for share in idle),
        *(f"kWh a year, idle {share}" for share in idle),
    )


def costs(study: IoStudy) -> list[tuple[str, ...]]:
    """One row for each cell: cycles and energy of an operation, energy of a result and year."""
    return [
        (
            cell.group,
            labelled(cell.environment, cell.emulated),
            str(cell.n),
            f"{cell.operations:,.0f}",
            f"{cell.cpio.value:,.0f} \u00b1 {cell.cpio.error:,.0f}",
            *(f"{cell.layers[layer]:,.0f}" for layer in LAYERS),
            *(_joules(one) for one in cell.eio_j),
            *(quantity(one.value * _MILLION, "J") for one in cell.eio_j),
            *(quantity(one, "J") for one in cell.result_j),
            *(f"{one:,.2f}" for one in cell.year_kwh or (float("nan"),) * len(cell.result_j)),
        )
        for cell in study.cells
    ]


def average_header(study: IoStudy) -> tuple[str, ...]:
    """Header of `averages`: percent of CPU time by state, then percent added to the baseline."""
    idle = (f"J per operation, idle {100 * share:.0f} %" for share in study.server.idle_fractions)
    return ("environment", "groups", *STATES, "cycles per operation", *idle)


def averages(study: IoStudy, baseline: str) -> list[tuple[str, ...]]:
    """One row for each environment: means over the groups that the baseline has too.

    Costs are shown as what the environment adds to the baseline's in the same group, in percent
    (Akram 2012), with the standard error of the mean over groups. Empty if there are fewer than two
    groups, whose mean would be a row of `costs` again.
    """
    own = {cell.group: cell for cell in study.cells if cell.environment == baseline}
    by_environment: dict[tuple[str, bool], list[IoCell]] = {}
    for cell in study.cells:
        if cell.group in own:
            by_environment.setdefault((cell.environment, cell.emulated), []).append(cell)
    return [
        (
            labelled(*environment),
            str(len(cells)),
            *(f"{fmean(cell.states_percent[state] for cell in cells):.1f} %" for state in STATES),
            *(
                NOTHING if environment[0] == baseline else _mean_added(pairs)
                for pairs in zip(*(_added(cell, own[cell.group]) for cell in cells), strict=True)
            ),
        )
        for environment, cells in by_environment.items()
        if len(cells) > 1
    ]


def _added(cell: IoCell, base: IoCell) -> list[float]:
    """Relative increase over the baseline of cycles per operation and of each energy."""
    pairs = ((cell.cpio, base.cpio), *zip(cell.eio_j, base.eio_j, strict=True))
    return [one.value / other.value - 1 if other.value else nan for one, other in pairs]


def _mean_added(shares: Sequence[float]) -> str:
    mean = mean_of([Estimate(value=share) for share in shares])
    error = "" if mean.error is None else f" \u00b1 {percent(mean.error)}"
    return percent(mean.value, sign=True) + error


AVERAGE_METHOD = (
    "Means over groups, each of the same weight. Costs: percent added to the baseline's in the "
    "same group; \u00b1 is the standard error of the mean, from the scatter of groups."
)


PROJECTION_HEADER = (
    *("workload", "environment", "cores measured", "law", "growth to 1,000 cores [95 %]"),
    "largest size held out",
)


PROJECTION_METHOD = (
    "System cycles per operation by cores, projected by the Universal Scalability Law (Gunther "
    "1993) and by a linear model; refused where the interval says nothing, or the largest size "
    "measured is missed by more than half."
)


def projections(study: IoStudy) -> list[tuple[str, ...]]:
    """Two rows for each projection: the law with coherency, and the linear one."""
    return [
        (one.workload, one.environment, ", ".join(map(str, one.measured)), name, *_said(one, law))
        for one in study.projections
        for name, law in (("USL", one.usl), ("linear", one.linear))
    ]


def method(study: IoStudy) -> str:
    """Text that explains the figures of I/O: operations, power, and results a day."""
    rates = "; ".join(f"{group} {rate:,.0f}" for group, rate in study.results_per_day.items())
    server = study.server
    return (
        f"An operation is 512 bytes read or written. {server.cores} cores, {server.peak_w:g} W "
        f"\u00b1 {server.peak_error_w:g} W with all of them busy, without storage (Akram 2012). "
        "\u00b1 is the standard uncertainty from frequency, power and repetitions. Idle time is of "
        f"the whole server while a program ran. A year's sum has so many results a day: {rates}."
    )


def _joules(one: Uncertain) -> str:
    return f"{quantity(one.value, 'J')} \u00b1 {percent(one.relative)}"


def _said(one: IoProjection, law: Projection | None) -> tuple[str, str]:
    if law is None:
        return f"refused: {one.note}", NOTHING
    held = NOTHING if law.held_out_error is None else percent(law.held_out_error, sign=True)
    if law.growth is None:
        return f"refused: {law.refused}", held
    return f"{law.growth:.3g} [{law.low:.3g}, {law.high:.3g}]", held
