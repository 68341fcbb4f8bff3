"""Declares the sections of an experiment file and reads each into a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from aferir.config.fields import Fields, Name, is_table
from aferir.config.hosts import power_source, price
from aferir.config.problems import Problems
from aferir.model.host import Price
from aferir.model.parameters import duration, number, text, told, whole
from aferir.model.plan import Order, StoppingRule
from aferir.model.words import kind_of
from aferir.power.sources import PATTERN

MOST_WORKLOADS = 64
MONTH_S = 30 * 24 * 3600.0
_EMULATED = 3
_REPETITIONS = 10


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the `[experiment]` section."""

    name: Annotated[Name, told("names the folder of the run")]
    title: Annotated[str, text("heading of the report", "My machine", unset="the name")] | None = (
        None
    )
    baseline: Annotated[str, text("environment of the file that ratios refer to", "native")] = (
        "native"
    )
    seed: Annotated[int, whole("seed of the order; the same seed repeats it", 0, 2**63 - 1)] = 1
    order: Annotated[
        Order,
        told(
            "`interleaved`: group after group, its environments next to each other,"
            " each of them equally often first; `random`: every"
            " round shuffled as a whole"
        ),
    ] = "interleaved"
    warmup: Annotated[int, whole("warm-up rounds before the first, stored with a mark", 0, 20)] = 1
    time_limit_s: Annotated[
        float,
        duration(
            "of the whole run; what is not done by then is left out, and the report says so",
            *(1.0, MONTH_S),
            bare=False,
        ),
    ] = msgspec.field(name="time_limit", default=3600.0)
    oversubscribe: Annotated[
        bool, told("a program may have more threads or processes than its environment has CPUs")
    ] = False
    shrink: Annotated[
        bool, told("reduce CPUs and memory to those of the machine, and report each reduction")
    ] = False
    metric: (
        Annotated[str, text("figure that the report opens with", "gap_s", unset="none")] | None
    ) = None
    power: (
        Annotated[
            str,
            text(
                "source of this host's power, which gives joules of each repetition",
                "rapl",
                parse=power_source,
                pattern=PATTERN,
                unset="none is read",
            ),
        ]
        | None
    ) = None
    price_per_hour: (
        Annotated[
            Price,
            text(
                "price of an hour on this host, which gives the cost of each repetition",
                "0.04 EUR",
                parse=price,
                unset="repetitions have no cost",
            ),
        ]
        | None
    ) = None
    load_period_s: (
        Annotated[
            float,
            duration(
                "how often the load of each core is looked at; the kernel counts ticks of 10 ms",
                *(0.05, 60.0),
                bare=False,
                unset="never",
            ),
        ]
        | None
    ) = msgspec.field(name="load_period", default=None)


def read_experiment(table: Mapping[str, object], problems: Problems) -> Experiment:
    """Read `[experiment]`; defaults replace wrong values, so that the rest is checked too."""
    fields = Fields(table, "experiment", problems)
    return Experiment(**{"name": "unnamed"} | fields.read(Experiment))


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of the `[stop]` section: `repetitions`, or `min`, `max` and `interval_percent`."""

    repetitions: Annotated[int, whole("repetitions of each cell", 1, 1000, unset="10")] | None = (
        None
    )
    minimum: Annotated[int, whole("repetitions at least", 2, 1000, unset="none")] | None = (
        msgspec.field(name="min", default=None)
    )
    maximum: Annotated[int, whole("repetitions at most", 2, 1000, unset="none")] | None = (
        msgspec.field(name="max", default=None)
    )
    interval_percent: (
        Annotated[
            float,
            number(
                "a group goes on until each of its environments has a 95 % confidence interval of"
                " its mean duration within this share of it",
                above=0.0,
                most=100.0,
                unit="%",
                unset="none",
            ),
        ]
        | None
    ) = None
    emulated: (
        Annotated[
            int,
            whole(
                "repetitions where all is emulated in software, which run last, without a warm-up",
                *(1, 1000),
                unset="3, or fewer if fewer are made",
            ),
        ]
        | None
    ) = None


def read_stop(table: Mapping[str, object], problems: Problems) -> StoppingRule:
    """Stopping rule: a fixed number of repetitions, or an adaptive rule."""
    fields = Fields(table, "stop", problems)
    stop = Stop(**fields.read(Stop))
    adaptive = [key for key in ("min", "max", "interval_percent") if key in table]
    if adaptive and "repetitions" in table:
        fields.wrong(
            "repetitions",
            f"says how often, and {', '.join(f'`{key}`' for key in adaptive)} when to stop",
            "keep either `repetitions` or `min`, `max` and `interval_percent`",
        )
    elif adaptive:
        fields.require("min", "min = 5")
        fields.require("max", "max = 20")
        fields.require("interval_percent", "interval_percent = 2.0")
    least, most = stop.minimum, (stop.maximum if adaptive else stop.repetitions) or _REPETITIONS
    if least is not None and stop.maximum is not None and least > stop.maximum:
        fields.wrong("min", f"{least} is above `max`, {stop.maximum}", "swap them or raise `max`")
    if stop.emulated is not None and stop.emulated > most:
        said = f"{stop.emulated} is more than the {most} that are made"
        fields.wrong("emulated", said, f"write a whole number from 1 to {most}")
    return StoppingRule(
        minimum=(least or most) if adaptive else most,
        maximum=most,
        interval_percent=stop.interval_percent if adaptive else None,
        emulated=min(_EMULATED, most) if stop.emulated is None else stop.emulated,
    )


def tables_of(
    document: Mapping[str, object], key: str, most: int, problems: Problems
) -> list[tuple[str, dict[str, object]]]:
    """Tables of an array with their paths, counted from 1."""
    value = document.get(key)
    if value is None or value == []:
        problems.add(key, f"there is no [[{key}]]", f"add at least one [[{key}]] table")
        return []
    if not isinstance(value, list):
        problems.add(key, f"is {kind_of(value)}", f"write [[{key}]] with two brackets")
        return []
    if len(value) > most:
        problems.add(key, f"there are {len(value)}", f"keep at most {most} of them")
        return []
    found = []
    for place, table in enumerate(value, start=1):
        if is_table(table):
            found.append((f"{key}[{place}]", table))
        else:
            problems.add(f"{key}[{place}]", f"is {kind_of(table)}", f"write a [[{key}]] table")
    return found
