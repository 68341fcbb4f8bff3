"""Power, energy and cost of programs that use several hosts: of each host, and of all together.

The first host's agent reads its power meter while the program runs. The others begin shortly before
and end shortly after it; of their readings only those during the program count (by our clock), or
all if there were none. A host's energy is its mean power times the first host's measured time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from aferir.environments.measured import Measured
from aferir.errors import AferirError
from aferir.hosts import messages
from aferir.hosts.environment import Host, series_by_our_clock
from aferir.linux.process import Completed
from aferir.measuring import cost
from aferir.measuring.energy import ENERGY, ERROR, POWER
from aferir.model.host import HostSpec
from aferir.model.record import Sample, Series, Warning

_UNITS = {POWER: "W", ERROR: "W", ENERGY: "J"}


@contextmanager
def metered(hosts: Sequence[Host]) -> Iterator[dict[str, messages.Metered]]:
    """Read the power meters of `hosts` during the block; afterwards the result has them by host.

    A host without a source of `power`, or whose connection is lost, has no entry.
    """
    found: dict[str, messages.Metered] = {}
    begun: list[Host] = []
    try:
        for host in hosts:
            if host.spec.power:
                host.line().tell(messages.BeginMetering(host.spec.power))
                begun.append(host)
        yield found
    finally:
        for host in begun:
            with suppress(AferirError):
                line = host.line()
                read = line.ask(messages.EndMetering(), messages.Metered)
                series = tuple(series_by_our_clock(one, line.clock) for one in read.series)
                found[host.spec.name] = msgspec.structs.replace(read, series=series)


def of_all(
    measured: Measured, hosts: Sequence[HostSpec], others: Mapping[str, messages.Metered]
) -> Measured:
    """Replace the first host's power, energy and cost in its result by those of all hosts.

    `others` are the readings of the other hosts by name. A warning says which hosts have none.
    """
    if measured.done is None:
        return measured
    first = hosts[0].name
    own = {one.metric: one.value for one in measured.observed if one.metric in _UNITS}
    each = {first: own, **{name: _values(read, measured.done) for name, read in others.items()}}
    each = {name: values for name, values in each.items() if POWER in values}
    seconds = own[ENERGY] / own[POWER] if own.get(POWER) else measured.done.duration_s
    each = {name: {**values, ENERGY: values[POWER] * seconds} for name, values in each.items()}
    kept = [one for one in measured.observed if one.metric not in _UNITS and not cost.is_one(one)]
    theirs = [_named(one, name) for name, read in others.items() for one in read.series]
    return msgspec.structs.replace(
        measured,
        observed=(*kept, *_totals(each), *_costs(hosts, measured.done.duration_s)),
        series=(*(_named(one, first) for one in measured.series), *theirs),
        warnings=(*measured.warnings, *_doubts(hosts, each, others)),
    )


def _named(one: Series, host: str) -> Series:
    """Label a curve of power with its host's name; other series are returned unchanged."""
    return msgspec.structs.replace(one, label=host) if one.metric == POWER else one


def _values(read: messages.Metered, done: Completed) -> dict[str, float]:
    """Values of one meter by metric; the power is the mean while the program ran."""
    found = {one.metric: one.value for one in read.samples}
    last_ns = done.started_unix_ns + round(done.duration_s * 1e9)
    during = [
        value
        for one in read.series
        for place, value in zip(one.at, one.values, strict=True)
        if (at := one.moment(place)) is not None and done.started_unix_ns <= at.unix_ns <= last_ns
    ]
    return {**found, POWER: math.fsum(during) / len(during)} if during else found


def _totals(each: Mapping[str, Mapping[str, float]]) -> list[Sample]:
    found = []
    for metric, unit in _UNITS.items():
        values = {name: of[metric] for name, of in each.items() if metric in of}
        if values:
            found.append(Sample(metric, math.fsum(values.values()), unit, "host"))
            found += [Sample(f"{metric}_of_{name}", v, unit, "host") for name, v in values.items()]
    return found


def _costs(hosts: Sequence[HostSpec], duration_s: float) -> list[Sample]:
    """Sum of the cost of all hosts, for each currency."""
    found: dict[str, Sample] = {}
    for host in hosts:
        for one in cost.samples(host.price_per_hour, duration_s):
            before = found.get(one.metric)
            value = one.value + (before.value if before is not None else 0.0)
            found[one.metric] = msgspec.structs.replace(one, value=value)
    return list(found.values())


def _doubts(
    hosts: Sequence[HostSpec],
    each: Mapping[str, object],
    others: Mapping[str, messages.Metered],
) -> Iterator[Warning]:
    for name, read in others.items():
        for one in read.warnings:
            yield msgspec.structs.replace(one, message=f"{name}: {one.message}")
    if without := [host.name for host in hosts if host.name not in each] if each else []:
        said = f"power and energy are without those of {', '.join(without)}"
        yield Warning("power-of-some-hosts", said, "set `power` of their [[host]]")
    priced = {host.name for host in hosts if host.price_per_hour is not None}
    if priced and (free := [host.name for host in hosts if host.name not in priced]):
        said = f"the cost is without that of {', '.join(free)}"
        yield Warning("cost-of-some-hosts", said, "set `price_per_hour` of their [[host]]")
