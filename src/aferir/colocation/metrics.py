"""Figures of a run for monitoring, as OpenMetrics text in a file.

The file is replaced atomically, as the textfile collector of Prometheus' node_exporter requires.
Source: OpenMetrics 1.0 (text format).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from aferir.colocation.job import Tick
from aferir.colocation.restores import Restores
from aferir.colocation.settings import Settings
from aferir.linux.journal import refuse_device

Kind = Literal["counter", "gauge"]


class Metric(msgspec.Struct, frozen=True):
    """A metric family: its name without the prefix, kind, unit and meaning."""

    name: str
    kind: Kind
    unit: str
    help: str

    @property
    def family(self) -> str:
        """Full name of the family."""
        return f"aferir_colocate_{self.name}"

    @property
    def sample(self) -> str:
        """Name of the family's samples; that of a counter ends with `_total`."""
        return f"{self.family}_total" if self.kind == "counter" else self.family


DECISIONS = Metric("decisions", "counter", "", "Decisions of the controller.")
VIOLATIONS = Metric(
    "violations", "counter", "", "Decisions at which the quantile exceeded the SLA."
)
BLIND = Metric("blind", "counter", "", "Decisions at which the quantile was unknown.")
RESTORES = Metric("restores", "counter", "", "Runs on this machine that were restored completely.")
LOST = Metric("restores_failed", "counter", "", "Restores that left something changed.")
GUARDS = Metric("guards_lost", "counter", "", "Guards that died and were replaced.")
BATCH = Metric("batch_cpu_seconds", "counter", "seconds", "CPU time of the batch program.")
BOUND = Metric("sla_seconds", "gauge", "seconds", "Bound of the quantile, by `quantile`.")
QUANTILE = Metric("latency_seconds", "gauge", "seconds", "The SLA's quantile of response times.")
LOW = Metric("latency_low_seconds", "gauge", "seconds", "Lower end of its 95 % interval.")
HIGH = Metric("latency_high_seconds", "gauge", "seconds", "Upper end of its 95 % interval.")
RATE = Metric("responses_per_second", "gauge", "", "Responses of the service in a second.")
QUOTA = Metric("batch_quota_cpus", "gauge", "", "CPUs that the batch may use; absent: no limit.")
WEIGHT = Metric("batch_weight", "gauge", "", "Weight of the batch's group; 0: idle.")
SUSPENDED = Metric("batch_suspended", "gauge", "", "1 while the batch is suspended.")
MEMORY = Metric("batch_memory_high_bytes", "gauge", "bytes", "Memory limit; absent: no limit.")
DISK = Metric("batch_disk_bytes_per_second", "gauge", "", "Disk limit; absent: no limit.")
MODE = Metric("mode_info", "gauge", "", "1 for the policy's mode and the cause of its last change.")
CHANGED = Metric("mode_age_seconds", "gauge", "seconds", "Time since the last change of the mode.")
METRICS = (
    *(DECISIONS, VIOLATIONS, BLIND, RESTORES, LOST, GUARDS, BATCH, BOUND, QUANTILE, LOW, HIGH),
    *(RATE, QUOTA, WEIGHT, SUSPENDED, MEMORY, DISK, MODE, CHANGED),
)
"""All families, in the order in which they are written."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of a run from its start until now."""

    decisions: int = 0
    violations: int = 0
    blind: int = 0
    guards_lost: int = 0
    batch_cpu_s: float = 0.0


_Label = tuple[tuple[str, str], ...]


def text(service: str, tick: Tick, totals: Totals, restores: Restores) -> str:
    """OpenMetrics text of the figures after one decision.

    `service`: label of all samples, the specifications of all services. If there are several,
    latency, rate and SLA are given for each, with its own specification as the label `name`.
    """
    of = (("service", service),)
    samples: dict[Metric, list[tuple[_Label, float]]] = {metric: [] for metric in METRICS}
    for metric, labels, value in _samples(tick, totals, restores):
        samples[metric].append(((*of, *labels), value))
    lines: list[str] = []
    for metric, found in samples.items():
        lines += [f"# TYPE {metric.family} {metric.kind}"]
        lines += [f"# UNIT {metric.family} {metric.unit}"] if _has_unit(metric) else []
        lines += [f"# HELP {metric.family} {metric.help}"]
        lines += [f"{metric.sample}{_written(labels)} {_number(value)}" for labels, value in found]
    return "\n".join([*lines, "# EOF", ""])


def _has_unit(metric: Metric) -> bool:
    """Whether the unit is declared: the format allows only a unit that the name ends with."""
    return bool(metric.unit) and metric.family.endswith(f"_{metric.unit}")


def _samples(
    tick: Tick, totals: Totals, restores: Restores
) -> Iterator[tuple[Metric, _Label, float]]:
    state, batch, told = tick.state, tick.now.batch, tick.now.explanation
    yield DECISIONS, (), totals.decisions
    yield VIOLATIONS, (), totals.violations
    yield BLIND, (), totals.blind
    yield RESTORES, (), restores.complete
    yield LOST, (), restores.failed
    yield GUARDS, (), totals.guards_lost
    yield BATCH, (), totals.batch_cpu_s
    for one in state.each:
        name = (("name", one.name),) if state.services else ()
        level = (*name, ("quantile", f"{one.sla.quantile:g}"))
        yield BOUND, level, one.sla.bound_s
        if one.latency is not None:
            yield QUANTILE, level, one.latency.quantile_s
            yield LOW, level, one.latency.low_s
            yield HIGH, level, one.latency.high_s
        yield RATE, name, one.rate
    if batch.quota_cpus is not None:
        yield QUOTA, (), batch.quota_cpus
    yield WEIGHT, (), 0 if batch.idle else batch.weight
    yield SUSPENDED, (), int(batch.suspended)
    if batch.memory_high_bytes is not None:
        yield MEMORY, (), batch.memory_high_bytes
    if batch.disk_bps is not None:
        yield DISK, (), batch.disk_bps
    yield MODE, (("mode", mode(tick.now)), ("why", told.why)), 1
    yield CHANGED, (), max(0.0, state.time_s - told.since_s) if told.since_s else 0.0


def mode(now: Settings) -> str:
    """Name of the policy's mode, or the state of the batch if the policy names none."""
    if now.explanation.mode:
        return now.explanation.mode
    batch = now.batch
    if batch.suspended:
        return "suspended"
    if batch.quota_cpus is not None:
        return "limited"
    return "idle" if batch.idle else "beside"


def _written(labels: _Label) -> str:
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for name, value in labels
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def replace(path: Path, written: str) -> None:
    """Replace the file atomically, readable for all. Errors: OSError."""
    refuse_device(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(written, encoding="utf-8")
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
