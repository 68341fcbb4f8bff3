"""Made-up runs with the figures that published tables compare."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from aferir.cluster.instance import ClusterSpec
from aferir.environments.qemu.spec import GuestSpec
from aferir.model.plan import (
    Cell,
    EnvironmentSpec,
    Parameter,
    Plan,
    StoppingRule,
    WorkloadSpec,
)
from aferir.model.record import Record, Sample, Series, Warning
from aferir.report.analyse import analyse
from aferir.report.model import Evaluation, IoCell, IoStudy
from aferir.statistics.io_cost import Uncertain

SPREAD = (0.98, 0.99, 0.995, 1.0, 1.005, 1.01, 1.02)
"""Repetitions relative to the figure: mean and median are 1."""
CPUS, MEMORY = 2, 2**31


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: its environment, its program, and figures around which repetitions vary."""

    spec: EnvironmentSpec
    program: str
    parameters: dict[str, Parameter] = {}
    factors: dict[str, Parameter] = {}
    samples: dict[str, float] = {}
    series: tuple[Series, ...] = ()
    workload: str = "w"
    emulated: bool = False

    @property
    def group(self) -> str:
        return "/".join([self.workload, *(f"{k}={v}" for k, v in self.factors.items())])

    @property
    def cell(self) -> Cell:
        return Cell(
            id=f"{self.spec.name}/{self.group}",
            group=self.group,
            environment=self.spec.name,
            workload=WorkloadSpec(
                name=self.workload,
                program=self.program,
                parameters=self.parameters | self.factors,
                time_limit_s=60,
            ),
            factors=self.factors,
        )


def native(name: str = "native", tenants: int = 1) -> EnvironmentSpec:
    return EnvironmentSpec(
        name=name, kind="native", cpus=CPUS, memory_bytes=MEMORY, tenants=tenants
    )


def container(name: str = "container", tenants: int = 1) -> EnvironmentSpec:
    return EnvironmentSpec(
        name=name, kind="container", cpus=CPUS, memory_bytes=MEMORY, tenants=tenants
    )


def guest(name: str = "vm", tenants: int = 1) -> EnvironmentSpec:
    return GuestSpec(name=name, kind="vm", cpus=CPUS, memory_bytes=MEMORY, tenants=tenants)


def cluster(name: str = "cluster", **keys: object) -> EnvironmentSpec:
    return ClusterSpec(name=name, memory_bytes=MEMORY, **keys)  # type: ignore[arg-type]


def evaluated(*made: Made, baseline: str = "native") -> Evaluation:
    """Evaluation of these cells, each with seven repetitions."""
    return analyse(plan(made, baseline), [r for one in made for r in records(one)])


def plan(made: Sequence[Made], baseline: str = "native") -> Plan:
    specs = {one.spec.name: one.spec for one in made}
    return Plan(
        name="made-up",
        title="Made up",
        baseline=baseline,
        seed=1,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=7, maximum=7, emulated=3),
        time_limit_s=600,
        environments=tuple(specs.values()),
        cells=tuple(one.cell for one in made),
    )


def records(made: Made) -> list[Record]:
    doubts = (Warning("emulated", "no KVM here"),) if made.emulated else ()
    samples = {"duration_s": 1.0} | made.samples
    return [
        Record(
            cell=made.cell.id,
            group=made.group,
            environment=made.spec.name,
            workload=made.workload,
            factors=made.factors,
            repetition=k,
            started_unix_ns=k,
            samples=tuple(Sample(name, value * factor, "") for name, value in samples.items()),
            series=tuple(_scaled(one, factor) for one in made.series),
            warnings=doubts,
        )
        for k, factor in enumerate(SPREAD)
    ]


def _scaled(series: Series, factor: float) -> Series:
    return msgspec.structs.replace(series, values=tuple(v * factor for v in series.values))


def with_costs(evaluation: Evaluation, study: IoStudy) -> Evaluation:
    return msgspec.structs.replace(evaluation, io=study)


def cost(made: Made, cpio: float, *, os: float = 0.5, joules: float = 1.0) -> IoCell:
    """Costs of a cell: `os` is the operating system's share of the cycles."""
    return IoCell(
        cell=made.cell.id,
        group=made.group,
        environment=made.spec.name,
        emulated=made.emulated,
        n=7,
        operations=1e6,
        states_percent={"user": 50.0, "system": 20.0, "virtual": 0.0, "idle": 30.0, "iowait": 0.0},
        layers={"user": cpio * (1 - os), "os": cpio * os, "vm": 0.0},
        cpio=Uncertain(cpio, 0.01 * cpio),
        eio_j=(Uncertain(joules, 0.02 * joules), Uncertain(2 * joules, 0.02 * joules)),
        result_j=(joules, 2 * joules),
    )
