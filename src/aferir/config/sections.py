"""The sections of an experiment file, each read for itself into a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec

from aferir.config.fields import (
    Fields,
    is_table,
)
from aferir.config.problems import Problems
from aferir.model.plan import (
    Order,
    StoppingRule,
)
from aferir.model.words import kind_of

ORDERS: tuple[Order, ...] = get_args(Order)
MOST_REPETITIONS = 1000
MOST_WARMUPS = 20
LEAST_LOAD_PERIOD_S = 0.05
"""The kernel counts ticks of 10 ms."""
MOST_WORKLOADS = 64
_DEFAULT_TIME_LIMIT_S = 3600.0
MONTH_S = 30 * 24 * 3600.0
_EMULATED = 3


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """The `[experiment]` table."""

    name: str
    title: str
    baseline: str
    seed: int
    order: Order
    warmup: int
    time_limit_s: float
    oversubscribe: bool
    shrink: bool = False
    metric: str = ""
    load_period_s: float | None = None


_EXPERIMENT_KEYS = (
    "name", "title", "baseline", "seed", "order", "warmup", "time_limit", "oversubscribe", "metric",
    "load_period", "shrink",
)  # fmt: skip


def read_experiment(table: Mapping[str, object], problems: Problems) -> Experiment:
    """Defaults stand in for what is wrong, so that the rest of the file is looked at too."""
    fields = Fields(table, "experiment", problems)
    fields.only(_EXPERIMENT_KEYS)
    name = fields.name("name", 'name = "my-experiment"') or "unnamed"
    order = fields.choice("order", ORDERS)
    seed = fields.integer("seed", 0, 2**63 - 1)
    warmup = fields.integer("warmup", 0, MOST_WARMUPS)
    return Experiment(
        name=name,
        title=fields.text("title") or name,
        baseline=fields.text("baseline") or "native",
        seed=1 if seed is None else seed,
        order=next((known for known in ORDERS if known == order), "interleaved"),
        warmup=1 if warmup is None else warmup,
        time_limit_s=fields.duration("time_limit", 1.0, MONTH_S) or _DEFAULT_TIME_LIMIT_S,
        oversubscribe=fields.flag("oversubscribe") or False,
        shrink=fields.flag("shrink") or False,
        metric=fields.text("metric") or "",
        load_period_s=fields.duration("load_period", LEAST_LOAD_PERIOD_S, 60.0),
    )


_STOP_KEYS = ("repetitions", "min", "max", "interval_percent", "emulated")


def read_stop(table: Mapping[str, object], problems: Problems) -> StoppingRule:
    """Either `repetitions`, or `min`, `max` and `interval_percent`."""
    fields = Fields(table, "stop", problems)
    fields.only(_STOP_KEYS)
    fixed = fields.integer("repetitions", 1, MOST_REPETITIONS)
    minimum = fields.integer("min", 2, MOST_REPETITIONS)
    maximum = fields.integer("max", 2, MOST_REPETITIONS)
    percent = fields.number("interval_percent", 0.0, 100.0)
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
    if minimum is not None and maximum is not None and minimum > maximum:
        fields.wrong("min", f"{minimum} is above `max`, {maximum}", "swap them or raise `max`")
    most = (maximum if adaptive else fixed) or 10
    emulated = fields.integer("emulated", 1, most)
    return StoppingRule(
        minimum=(minimum or most) if adaptive else most,
        maximum=most,
        interval_percent=percent if adaptive else None,
        emulated=min(_EMULATED, most) if emulated is None else emulated,
    )


def tables_of(
    document: Mapping[str, object], key: str, most: int, problems: Problems
) -> list[tuple[str, dict[str, object]]]:
    """The tables of an array with their paths, counted from 1."""
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
