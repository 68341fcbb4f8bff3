"""The sections of an experiment file, each read for itself into a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec

from aferir.config.clouds import KEYS as CLOUD_KEYS
from aferir.config.clouds import read_cloud
from aferir.config.clusters import KEYS as CLUSTER_KEYS
from aferir.config.clusters import read_cluster
from aferir.config.fields import (
    Fields,
    is_table,
)
from aferir.config.problems import Problems
from aferir.config.server import read_disk
from aferir.environments.base import Kind
from aferir.model.plan import (
    EnvironmentSpec,
    HostLimits,
    Order,
    StoppingRule,
)
from aferir.model.words import kind_of, shown

ORDERS: tuple[Order, ...] = get_args(Order)
MOST_REPETITIONS = 1000
MOST_WARMUPS = 20
LEAST_LOAD_PERIOD_S = 0.05
"""The kernel counts ticks of 10 ms."""
MOST_CPUS = 4096
MOST_ENVIRONMENTS = 16
MOST_WORKLOADS = 64
_DEFAULT_MEMORY = 2**30
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
    metric: str = ""
    load_period_s: float | None = None


_EXPERIMENT_KEYS = (
    "name", "title", "baseline", "seed", "order", "warmup", "time_limit", "oversubscribe", "metric",
    "load_period",
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


MOST_TENANTS = 64
_ENVIRONMENT_KEYS = (
    *("name", "kind", "cpus", "memory", "pin", "cpu_quota", "huge_pages", "merge_pages", "tenants"),
    *("disk", "disk_rate"),
    *CLUSTER_KEYS,
    *CLOUD_KEYS,
)


def read_environment(
    table: Mapping[str, object],
    path: str,
    *,
    kinds: Mapping[str, Kind],
    host: HostLimits,
    problems: Problems,
) -> EnvironmentSpec | None:
    """One `[[environment]]` table; None where its name or kind is wrong."""
    fields = Fields(table, path, problems)
    fields.only(_ENVIRONMENT_KEYS)
    name = fields.name("name", 'name = "native"')
    fields.require("kind", 'kind = "native"')
    kind = kinds.get(fields.choice("kind", tuple(kinds)) or "")
    pin = _read_pin(fields, host)
    cpus = fields.integer("cpus", 1, MOST_CPUS)
    if cpus is not None:
        check_cpus(fields.at("cpus"), cpus, host, problems)
    if cpus is not None and pin and len(pin) < cpus:
        fields.wrong(
            "pin",
            f"names {len(pin)} CPUs for `cpus = {cpus}`",
            "name at least as many CPUs as the environment has",
        )
    quota = fields.number("cpu_quota", 0.0, 1.0)
    tenants = fields.integer("tenants", 1, MOST_TENANTS)
    disk = read_disk(fields, kind.name if kind is not None else "native")
    memory = fields.size("memory")
    if kind is not None and memory is not None:
        check_memory(fields.at("memory"), memory, kind, host, problems)
    if name is None or kind is None:
        return None
    default = host.memory_bytes if kind.on_host else min(_DEFAULT_MEMORY, host.memory_bytes)
    spec = EnvironmentSpec(
        name=name,
        kind=kind.name,
        cpus=cpus or (1 if kind.mpi else len(pin) or host.most_cpus),
        memory_bytes=memory or default,
        pin=pin,
        cpu_quota=quota,
        huge_pages=fields.flag("huge_pages") is not False,
        merge_pages=fields.flag("merge_pages") is True,
        tenants=tenants or 1,
        disk_bytes=disk[0],
        disk_bps=disk[1],
    )
    return read_cloud(fields, read_cluster(fields, spec))


def check_cpus(path: str, cpus: int, host: HostLimits, problems: Problems) -> None:
    """Refuse more CPUs than the host has: they would only take turns."""
    most = host.most_cpus
    if cpus > most:
        have = f"this host has {len(host.cpus)}"
        if host.cpu_quota is not None and most < len(host.cpus):
            have = f"a control group around aferir may use {host.cpu_quota:g}"
        problems.add(path, f"asks for {cpus} CPUs, and {have}", f"ask for 1 to {most}")


def check_memory(
    path: str, memory_bytes: int, kind: Kind, host: HostLimits, problems: Problems
) -> None:
    """Refuse more than the host has and less than an instance starts with."""
    if memory_bytes > host.memory_bytes:
        problems.add(
            path,
            f"asks for {memory_bytes} bytes, and this host has {host.memory_bytes}",
            f'ask for less, e.g. "{host.memory_bytes // 2**21 or 1} MiB"',
        )
    elif memory_bytes < kind.least_memory_bytes:
        problems.add(
            path,
            f"is too little for kind {kind.name} to start",
            f'ask for at least "{kind.least_memory_bytes // 2**20} MiB"',
        )


def _read_pin(fields: Fields, host: HostLimits) -> tuple[int, ...]:
    value = fields.table.get("pin")
    if value is None:
        return ()
    have = ", ".join(map(str, host.cpus))
    remedy = f"write a list of different CPUs of this host, out of [{have}]"
    if not isinstance(value, list) or not value:
        fields.wrong("pin", f"{shown(value)} is {kind_of(value)}, not a list of CPUs", remedy)
        return ()
    for cpu in value:
        if isinstance(cpu, bool) or not isinstance(cpu, int):
            fields.wrong("pin", f"{shown(cpu)} is no number of a CPU", remedy)
            return ()
        if cpu not in host.cpus:
            fields.wrong("pin", f"this host has no CPU {shown(cpu)}", remedy)
            return ()
    if len(set(value)) != len(value):
        fields.wrong("pin", "names a CPU twice", remedy)
        return ()
    return tuple(value)


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
