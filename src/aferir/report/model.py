"""The evaluation of a run: what every table, chart and sentence is made from. Frozen values."""

from __future__ import annotations

from typing import Literal

import msgspec

from aferir.model.plan import EnvironmentKind, Parameter, ServerSpec
from aferir.model.record import Failure, Side, Warning
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
    """One value that counts."""

    repetition: int
    value: float


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one cell, from one side, over its repetitions; base unit."""

    metric: str
    unit: str
    side: Side
    summary: Summary


class CpuSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Mean share of each state of the CPUs in percent; they close to 100."""

    side: Side
    n: int
    states: dict[str, float]


class CountedFailure(msgspec.Struct, frozen=True):
    """A way to fail, and in how many repetitions it happened."""

    failure: Failure
    """The first one of its code."""
    repetitions: int


class CountedWarning(msgspec.Struct, frozen=True):
    """A doubt, and how many repetitions raised it; None where it is about all of them."""

    warning: Warning
    """The first one of its code."""
    repetitions: int | None = None


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One environment in one group."""

    cell: str
    group: str
    environment: str
    kind: EnvironmentKind
    workload: str
    program: str
    parameters: dict[str, Parameter] = {}
    factors: dict[str, Parameter]
    emulated: bool
    baseline: bool
    points: tuple[Point, ...]
    """`duration_s` by repetition, in seconds."""
    duration: Summary
    """Summary of `duration_s`, in seconds; its `n` is 0 where nothing succeeded."""
    metrics: tuple[MetricSummary, ...]
    """The program's other figures, throughput among them."""
    observed: tuple[MetricSummary, ...]
    """What probes saw, but for the split of the CPUs."""
    cpu: tuple[CpuSplit, ...]
    ratio: Ratio | None
    """Duration over the baseline's; None for the baseline, and where that has no result."""
    verdict: Verdict | None
    failures: tuple[CountedFailure, ...]
    warnings: tuple[CountedWarning, ...]


class AllocationResult(msgspec.Struct, frozen=True, kw_only=True):
    """Allocations of one environment; seconds, phases as in Dutra 2015, chapter 5."""

    environment: str
    kind: EnvironmentKind
    emulated: bool
    phases: tuple[MetricSummary, ...]
    """Those that this kind of environment has, in their order, without total and release."""
    total: Summary
    release: Summary
    failures: tuple[CountedFailure, ...]
    warnings: tuple[CountedWarning, ...]


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """One environment over all groups: the geometric mean of its ratios, each counting alike."""

    environment: str
    """The family: variants such as `container[cpus=1]` are ranked together."""
    ratio: float
    interval: Interval | None
    """None for the baseline, and where one of the ratios has none."""
    groups: int
    of: int
    """Groups of the plan; an environment that lacks some is not strictly comparable."""
    emulated: bool
    baseline: bool
    won: int = 0
    """Groups in which its median is the smallest, of those with several environments."""
    contested: int = 0
    """Groups with results of this and of another environment."""
    best_place: int = 1
    worst_place: int = 1
    """Places that the intervals allow: two environments whose intervals overlap may swap."""


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One plain statement, with what it was made from."""

    environment: str
    outcome: Outcome
    emulated: bool
    groups: tuple[str, ...]
    text: str


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The repetitions at one place of a curve."""

    at: float | str
    n: int
    median: float
    quantile_25: float
    quantile_75: float
    at_25: float | None = None
    at_75: float | None = None
    """Of a scatter, where the places vary from one repetition to the next."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a picture."""

    environment: str
    """The family, where it is a factor of the environment that the curve lies along."""
    emulated: bool
    label: str
    """The arm within one environment; empty where there is only one."""
    points: tuple[CurvePoint, ...]
    """Points by place where places are numbers, else in the order of first appearance."""


class CurveFamily(msgspec.Struct, frozen=True, kw_only=True):
    """One metric along one thing: one picture."""

    title: str
    """The group, or the workload where it is a factor that the curves lie along."""
    metric: str
    unit: str
    along: str
    along_unit: str
    categories: bool
    """Places are words."""
    pooled: bool
    """False where repetitions have different places: then the first repetition stands alone."""
    curves: tuple[Curve, ...]
    kind: Literal["curve", "scatter", "frontier"] = "curve"
    """As of `Series`."""
    moments: dict[str, float] = {}
    """As of `Series`."""


class IoCell(msgspec.Struct, frozen=True, kw_only=True):
    """One environment in one group: means over its repetitions."""

    cell: str
    group: str
    environment: str
    emulated: bool
    n: int
    operations: float
    states_percent: dict[str, float]
    layers: dict[str, float]
    cpio: Uncertain
    """Its uncertainty is that of frequency and ticks, and of the mean over repetitions."""
    eio_j: tuple[Uncertain, ...]
    result_j: tuple[float, ...]
    year_kwh: tuple[float, ...] = ()
    """Energy of so many results a day as the server's specification says, all year."""


class IoProjection(msgspec.Struct, frozen=True, kw_only=True):
    """System cycles per operation over cores, and what is said of a number not measured."""

    workload: str
    environment: str
    measured: dict[int, float]
    """Mean system cycles per operation by cores."""
    usl: Projection | None
    """Projection by the Universal Scalability Law; None where too few numbers of cores make no
    law."""
    linear: Projection | None
    """Projection by the linear model of Akram 2012, beside it."""
    note: str = ""


class IoStudy(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    server: ServerSpec
    cells: tuple[IoCell, ...]
    results_per_day: dict[str, float]
    """Results a day by group."""
    projections: tuple[IoProjection, ...] = ()


class UnderRoof(msgspec.Struct, frozen=True, kw_only=True):
    """One program's place under a roofline."""

    workload: str
    n: int
    flops: float
    """Median of its repetitions, in floating-point operations a second."""
    intensity: float
    """Operations a byte, by a model."""
    roof_flops: float
    """Attainable at that intensity."""
    limit: Limit
    """What makes it so."""
    share: float
    """Share of the roof."""


class Roofline(msgspec.Struct, frozen=True, kw_only=True):
    """What an environment can do, and what programs make of it."""

    environment: str
    emulated: bool
    label: str
    """Levels of factors."""
    peak_flops: float
    bandwidth_bps: float
    programs: tuple[UnderRoof, ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about one run."""

    name: str
    title: str
    baseline: str
    environments: tuple[str, ...]
    """Names in the order of the plan, variants included."""
    groups: tuple[str, ...]
    cells: tuple[CellResult, ...]
    """Group by group, environments in the order of the plan."""
    curves: tuple[CurveFamily, ...] = ()
    rooflines: tuple[Roofline, ...] = ()
    io: IoStudy | None = None
    """Costs of I/O, where the plan says what the server takes."""
    allocations: tuple[AllocationResult, ...]
    ranking: tuple[Rank, ...]
    """Fastest first."""
    sentences: tuple[Sentence, ...]
    explanations: tuple[Explanation, ...] = ()
    """Comparisons whose causes were looked for."""
    not_explained: tuple[str, ...] = ()
    """Those that lack the repetitions for it, a sentence each."""
    rule: Rule
    repetitions: int
    """Finished ones that count, failures included."""


class CellComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The same environment and group in two runs; ratio of the second to the first."""

    group: str
    environment: str
    emulated: bool
    """Whether it was emulated in either run."""
    first: Summary
    second: Summary
    verdict: Verdict
    text: str


class NotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """An environment and a group that both sides have, with other work or of another kind."""

    group: str
    environment: str
    differs: tuple[str, ...]
    """`class S against B`."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Runs side by side."""

    first: str
    second: str
    notes: tuple[str, ...] = ()
    """What qualifies all of it: one run each, another machine."""
    cells: tuple[CellComparison, ...]
    not_compared: tuple[NotCompared, ...] = ()
    only_first: tuple[str, ...]
    """Cells without a counterpart that has results."""
    only_second: tuple[str, ...]
    rule: Rule
