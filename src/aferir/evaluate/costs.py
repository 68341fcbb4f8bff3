"""Cost of each environment by each criterion, from evaluations of runs. Pure.

A cost is a positive factor: 2 is twice as bad as 1. Costs are kept as logarithms, with their
standard error. If several figures answer a criterion, its cost is their geometric mean, which does
not depend on the baseline (Fleming and Wallace 1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from aferir.evaluate.profile import Criterion, Profile
from aferir.model.plan import environment_family
from aferir.report.model import AllocationResult, CellResult, Evaluation, IoCell
from aferir.report.published.finding import mean, with_level
from aferir.report.published.model import Seen
from aferir.statistics.estimates import Estimate, difference, of_summary
from aferir.statistics.student import satterthwaite

_TENANTS = "environment.tenants"
_CLOCKS = ("clock", "mpi-clock", "ocean")
_OTHER_QUESTIONS = (
    *("clock", "mpi-clock", "colocation"),
    *("elastic-allocation", "elastic-capacity", "elastic-load", "elastic-movie"),
)
"""Programs that run for a given time, so that their duration does not measure performance."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one environment by one criterion."""

    criterion: Criterion
    environment: str
    emulated: bool
    log: Estimate
    """Natural logarithm of the cost."""
    figures: int
    """Number of figures that it is the mean of."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of an environment: the logarithm of a cost, in one group of one run."""

    environment: str
    emulated: bool
    group: str
    """Run and group: figures of one group are compared."""
    log: Estimate


_Finder = Callable[[Profile, str, Evaluation], Iterator[Figure]]
"""Function that yields figures, given the profile, the name of the baseline, and a run."""


def costs(profile: Profile, runs: Sequence[Evaluation], baseline: str) -> tuple[Cost, ...]:
    """Compute all costs that follow from the runs and from the profile's prices, by criterion.

    Environments outside the profile's choice have no influence on which groups are compared.
    """
    chosen = profile.general.environments
    measured = {
        criterion: [
            figure
            for run in runs
            for figure in find(profile, baseline, run)
            if not chosen or figure.environment in chosen
        ]
        for criterion, find in _FINDERS.items()
    }
    found = [
        cost for criterion, figures in measured.items() for cost in _combined(criterion, figures)
    ]
    return (*found, *_prices(profile))


def _combined(criterion: Criterion, figures: Sequence[Figure]) -> Iterator[Cost]:
    """Mean of each environment's figures, over the groups that all environments have.

    Each group counts once, even if an environment has several figures in it: otherwise groups with
    large figures would make it dearer than an environment with one figure in each. If no group is
    common to all, environments with the most groups are compared, and the others lack the
    criterion.
    """
    by_environment: dict[str, dict[str, list[Figure]]] = {}
    for figure in figures:
        groups = by_environment.setdefault(figure.environment, {})
        groups.setdefault(figure.group, []).append(figure)
    if not by_environment:
        return
    common = set.intersection(*map(set, by_environment.values()))
    most = max(by_environment.values(), key=len)
    shared = common or set(most)
    for environment, groups in by_environment.items():
        if shared <= set(groups):
            chosen = [groups[group] for group in sorted(shared)]
            own = [figure for group in chosen for figure in group]
            yield Cost(
                criterion=criterion,
                environment=environment,
                emulated=any(figure.emulated for figure in own),
                log=_mean([_mean([figure.log for figure in group]) for group in chosen]),
                figures=len(own),
            )


def _mean(logs: Sequence[Estimate]) -> Estimate:
    """Mean of independent estimates; its error comes from their errors, not from their scatter."""
    m, n = len(logs), min(one.n for one in logs)
    value = sum(one.value for one in logs) / m
    errors = [one.error for one in logs if one.error is not None]
    if len(errors) < m:
        return Estimate(value=value, n=n)
    parts = tuple((error / m) ** 2 for error in errors)
    freedom = satterthwaite(parts, tuple(one.freedom for one in logs))
    return Estimate(value=value, error=math.sqrt(sum(parts)), freedom=freedom, n=n)


def _performance(_: Profile, baseline: str, run: Evaluation) -> Iterator[Figure]:
    """Durations relative to the baseline's, of all programs whose duration measures performance."""
    if run.baseline != baseline:
        return
    for cell in run.cells:
        if cell.program in _OTHER_QUESTIONS or _tenants(cell) > 1 or not cell.duration.n:
            continue
        if cell.baseline:
            yield _figure(run, cell, Estimate(value=0.0, error=0.0))
        elif cell.ratio is not None and cell.ratio.estimate is not None:
            ratio = cell.ratio
            log = Estimate(
                value=math.log(cell.ratio.estimate),
                error=ratio.log_error,
                freedom=ratio.freedom if ratio.freedom is not None else math.inf,
                n=ratio.n,
            )
            yield _figure(run, cell, log)


def _energy(profile: Profile, _: str, run: Evaluation) -> Iterator[Figure]:
    """Energy of one result, at the profile's idle power."""
    if run.io is None:
        return
    fractions = run.io.server.idle_fractions
    idle = profile.energy.idle if profile.energy.idle is not None else fractions[0]
    if idle not in fractions:
        return
    at, cells = fractions.index(idle), {cell.cell: cell for cell in run.cells}
    for cost in run.io.cells:
        cell = cells[cost.cell]
        if _tenants(cell) == 1 and cost.result_j[at] > 0:
            yield _figure(run, cell, _energy_log(cost, at))


def _energy_log(cost: IoCell, at: int) -> Estimate:
    joules = cost.result_j[at]
    return Estimate(value=math.log(joules), error=cost.eio_j[at].relative, n=cost.n)


def _elasticity(profile: Profile, _: str, run: Evaluation) -> Iterator[Figure]:
    """Time from the request to the release of an instance, over the time in which it is used."""
    for one in run.allocations:
        waited = _waited(one)
        if waited is not None:
            yield Figure(
                environment=environment_family(one.environment),
                emulated=one.emulated,
                group="allocation",
                log=_log(waited.scaled(1 / profile.elasticity.use).plus(1.0)),
            )


def _waited(one: AllocationResult) -> Estimate | None:
    total, release = of_summary(one.total), of_summary(one.release)
    if total is None:
        return None
    if release is None:
        return total
    if total.error is None or release.error is None:
        return Estimate(value=total.value + release.value, n=total.n)
    error = math.hypot(total.error, release.error)
    freedom = min(total.freedom, release.freedom)
    return Estimate(value=total.value + release.value, error=error, freedom=freedom, n=total.n)


def _time_precision(profile: Profile, _: str, run: Evaluation) -> Iterator[Figure]:
    """Cost by time precision: 1 plus the clock's error divided by the tolerated error."""
    for cell in run.cells:
        error = mean(cell, profile.time_precision.metric) if cell.program in _CLOCKS else None
        if error is not None and _tenants(cell) == 1:
            size = error if error.value >= 0 else error.scaled(-1)
            relative = size.scaled(1 / profile.time_precision.tolerated)
            yield _figure(run, cell, _log(relative.plus(1.0)))


def _isolation(_: Profile, __: str, run: Evaluation) -> Iterator[Figure]:
    """Ratio of the duration beside other tenants to the duration of a single tenant."""
    seen = Seen(evaluation=run)
    for cell in run.cells:
        beside = _tenants(cell) > 1 and cell.program not in _OTHER_QUESTIONS
        alone = with_level(seen, cell, _TENANTS, 1) if beside else None
        above = of_summary(cell.duration)
        below = of_summary(alone.duration) if alone is not None else None
        if above is not None and below is not None and above.value > 0 and below.value > 0:
            yield _figure(run, cell, difference(_log(above), _log(below)))


def _log(one: Estimate) -> Estimate:
    """Logarithm of a positive estimate, to first order."""
    error = None if one.error is None else one.error / one.value
    return msgspec.structs.replace(one, value=math.log(one.value), error=error)


def _tenants(cell: CellResult) -> int:
    return int(cell.specification.get("tenants", 1))


def _figure(run: Evaluation, cell: CellResult, log: Estimate) -> Figure:
    return Figure(
        environment=environment_family(cell.environment),
        emulated=cell.emulated,
        group=f"{run.name}: {cell.group}",
        log=log,
    )


def _prices(profile: Profile) -> Iterator[Cost]:
    for environment, price in profile.price.items():
        yield Cost(
            criterion="price",
            environment=environment,
            emulated=False,
            log=Estimate(value=math.log(price), error=0.0),
            figures=1,
        )


_FINDERS: Mapping[Criterion, _Finder] = {
    "performance": _performance,
    "energy": _energy,
    "elasticity": _elasticity,
    "time-precision": _time_precision,
    "isolation": _isolation,
}
