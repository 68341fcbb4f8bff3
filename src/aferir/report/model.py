"""Evaluation of a run, from which all tables, charts and sentences are made. Frozen values."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.model.plan import EnvironmentKind, Parameter, ServerSpec
from aferir.model.record import Failure, Sample, Side, Warning
from aferir.report.causes import Explanation
from aferir.statistics.intervals import Interval
from aferir.statistics.io_cost import Uncertain
from aferir.statistics.ratio import Ratio
from aferir.statistics.roofline import Limit
from aferir.statistics.scaling import Projection
from aferir.statistics.summary import Summary
from aferir.statistics.verdict import Outcome, Rule, Verdict

EMULATED = "emulated"
"""Code of the warning that a result was measured under a software emulator."""


class Point(msgspec.Struct, frozen=True):
    """`duration_s` of one repetition that counts."""

    repetition: int
    value: float


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of one metric of one cell, from one side, over its repetitions, in base units."""

    metric: str
    unit: str
    side: Side
    summary: Summary


class CpuSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Mean share of each CPU state in percent; the shares add up to 100."""

    side: Side
    n: int
    states: dict[str, float]


class CountedFailure(msgspec.Struct, frozen=True):
    """A failure, with the number of repetitions in which it occurred."""

    failure: Failure
    """First failure with this code."""
    repetitions: int


class CountedWarning(msgspec.Struct, frozen=True):
    """A warning, with the number of repetitions that raised it; None: it concerns the whole run."""

    warning: Warning
    """First warning with this code."""
    repetitions: int | None = None


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one environment in one group."""

    cell: str
    group: str
    environment: str
    kind: EnvironmentKind
    workload: str
    program: str
    parameters: dict[str, Parameter] = {}
    factors: dict[str, Parameter]
    specification: dict[str, Parameter] = {}
    """Fields of its environment's specification with one plain value, e.g. `tenants`, `suite`."""
    emulated: bool
    baseline: bool
    points: tuple[Point, ...]
    """`duration_s` by repetition, in seconds."""
    duration: Summary
    """Summary of `duration_s`, in seconds; its `n` is 0 if nothing succeeded."""
    metrics: tuple[MetricSummary, ...]
    """Summaries of the program's other metrics."""
    observed: tuple[MetricSummary, ...]
    """Summaries of the probes' metrics, without CPU states."""
    cpu: tuple[CpuSplit, ...]
    ratio: Ratio | None
    """Ratio of durations to the baseline; None for the baseline, and if either has no result."""
    verdict: Verdict | None
    failures: tuple[CountedFailure, ...]
    warnings: tuple[CountedWarning, ...]


class AllocationResult(msgspec.Struct, frozen=True, kw_only=True):
    """Allocations of one environment, in seconds, with phases as in Dutra 2015, chapter 5."""

    environment: str
    kind: EnvironmentKind
    emulated: bool
    phases: tuple[MetricSummary, ...]
    """Phases of this kind of environment in their order, without total and release."""
    total: Summary
    release: Summary
    failures: tuple[CountedFailure, ...]
    warnings: tuple[CountedWarning, ...]


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """Rank of an environment over all groups, by the unweighted geometric mean of its ratios."""

    environment: str
    """Name of the family: variants such as `container[cpus=1]` are ranked together."""
    ratio: float
    interval: Interval | None
    """Interval of `ratio`; None for the baseline, and if one of the ratios has none."""
    groups: int
    of: int
    """Number of groups of the plan; an environment that lacks some is not strictly comparable."""
    emulated: bool
    baseline: bool
    won: int = 0
    """Number of contested groups in which its median is the smallest."""
    contested: int = 0
    """Number of groups with results of this and of another environment."""
    best_place: int = 1
    worst_place: int = 1
    """Worst place that the intervals permit: environments with overlapping intervals may swap."""


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence of the report, with its subject."""

    environment: str
    outcome: Outcome
    emulated: bool
    groups: tuple[str, ...]
    text: str


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Values of all repetitions at one place of a curve."""

    at: float | str
    n: int
    median: float
    quantile_25: float
    quantile_75: float
    interval: Interval | None = None
    """Interval of the median; None for fewer than 6 values."""
    at_25: float | None = None
    at_75: float | None = None
    """Quartiles (`at_25`, `at_75`) of the places in a scatter, which vary between repetitions."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a picture."""

    environment: str
    """Name of the environment, or of its family if the curve runs along one of its factors."""
    emulated: bool
    label: str
    """Name that distinguishes several curves of one environment; empty if it has only one curve."""
    points: tuple[CurvePoint, ...]
    """Points sorted by place if places are numbers, else in the order of first appearance."""
    judged: Sample | None = None
    """Sample by which the plotted repetition is the best or the worst one; None: the curve is
    neither."""


class CurveFamily(msgspec.Struct, frozen=True, kw_only=True):
    """Curves of one metric along one quantity, which are drawn in one picture."""

    title: str
    """Name of the group, or of the workload if the curves run along a factor."""
    metric: str
    unit: str
    along: str
    along_unit: str
    categories: bool
    """True if places are words."""
    pooled: bool
    """False if repetitions have different places; then a single repetition is drawn."""
    curves: tuple[Curve, ...]
    kind: Literal["curve", "scatter", "frontier"] = "curve"
    """Kind of picture, as in `Series`."""
    moments: dict[str, float] = {}
    """Events by name, as in `Series`."""
    shown: Literal["first", "best", "worst"] = "first"
    """Repetition that is drawn if repetitions are not pooled: the first one, or the best or the
    worst one by the experiment's metric.
    """


class IoCell(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of I/O of one environment in one group: means over its repetitions."""

    cell: str
    group: str
    environment: str
    emulated: bool
    n: int
    operations: float
    states_percent: dict[str, float]
    layers: dict[str, float]
    cpio: Uncertain
    """Cycles per operation; their uncertainty combines that of frequency, ticks and repetitions."""
    eio_j: tuple[Uncertain, ...]
    result_j: tuple[float, ...]
    year_kwh: tuple[float, ...] = ()
    """Energy of a year in kWh for each idle power, with the group's number of results per day."""


class IoProjection(msgspec.Struct, frozen=True, kw_only=True):
    """System cycles per operation by number of cores, with projections to more cores."""

    workload: str
    environment: str
    measured: dict[int, float]
    """Mean system cycles per operation, by number of cores."""
    usl: Projection | None
    """Projection by the Universal Scalability Law; None for too few numbers of cores."""
    linear: Projection | None
    """Projection by the linear model of Akram 2012."""
    note: str = ""


class IoStudy(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of I/O in a run, and the server that they refer to."""

    server: ServerSpec
    cells: tuple[IoCell, ...]
    results_per_day: dict[str, float]
    """Results per day by group."""
    projections: tuple[IoProjection, ...] = ()


class UnderRoof(msgspec.Struct, frozen=True, kw_only=True):
    """Position of one program under the roofline of its environment."""

    workload: str
    n: int
    flops: float
    """Median of its repetitions, in floating-point operations/s."""
    intensity: float
    """Operations/byte, computed from a model of the program."""
    roof_flops: float
    """Attainable rate at this intensity, in operations/s."""
    limit: Limit
    """What sets the roof: memory or arithmetic; with `caches` the roof is the peak rate."""
    share: float
    """Ratio of the measured to the attainable rate."""


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """Roofline of an environment, with the programs under it."""

    environment: str
    emulated: bool
    label: str
    """Levels of the factors that the programs and the limits share."""
    peak_flops: float
    bandwidth_bps: float
    programs: tuple[UnderRoof, ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Evaluation of one run."""

    name: str
    title: str
    baseline: str
    environments: tuple[str, ...]
    """Names in the order of the plan, variants included."""
    groups: tuple[str, ...]
    cells: tuple[CellResult, ...]
    """Results group by group, with environments in the order of the plan."""
    curves: tuple[CurveFamily, ...] = ()
    rooflines: tuple[Roofline, ...] = ()
    io: IoStudy | None = None
    """Costs of I/O; None if the plan does not describe the server to which they refer."""
    allocations: tuple[AllocationResult, ...]
    ranking: tuple[Rank, ...]
    """Ranks, the fastest first."""
    sentences: tuple[Sentence, ...]
    explanations: tuple[Explanation, ...] = ()
    """Comparisons whose causes were measured."""
    not_explained: tuple[str, ...] = ()
    """One sentence for each group that has too few repetitions to be explained."""
    rule: Rule
    repetitions: int
    """Number of finished repetitions that count, failures included."""


class CellComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of one cell in two runs: the ratio of the second run to the first."""

    group: str
    environment: str
    emulated: bool
    """True if it was emulated in either run."""
    first: Summary
    second: Summary
    verdict: Verdict
    text: str


class NotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of both sides that is not compared, since its work or kind of environment differs."""

    group: str
    environment: str
    differs: tuple[str, ...]
    """Differences such as `class S against B`."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of two runs, or of two sets of runs."""

    first: str
    second: str
    notes: tuple[str, ...] = ()
    """Notes that qualify the whole comparison, such as other machines or one run each."""
    cells: tuple[CellComparison, ...]
    not_compared: tuple[NotCompared, ...] = ()
    only_first: tuple[str, ...]
    """Cells (`only_first`, `only_second`) that have results on one side only."""
    only_second: tuple[str, ...]
    rule: Rule
