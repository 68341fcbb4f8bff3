"""A whole run, made up: its plan, its records and its provenance, as a machine would give them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from aferir.model.finding import Finding
from aferir.model.plan import Cell, EnvironmentSpec, Plan, StoppingRule, WorkloadSpec
from aferir.model.provenance import LeftOut, Provenance, Segment
from aferir.model.record import Failure, Record, Sample, Warning

STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
EMULATED = Warning(
    "emulated",
    "KVM does not work here: the guest's processor is emulated in software",
    "do not read these figures as those of a virtual machine",
)
BASE_S = {"ep": 1.92, "cg": 0.84, "is": 0.31, "mg": 1.2, "ft": 2.4}
MOPS = {"ep": 65.0, "cg": 4361.0, "is": 284.0, "mg": 5019.0, "ft": 3963.0}
PHASES = {
    "native": {},
    "container": {"copied_s": 0.004, "booted_s": 0.021, "ready_s": 0.009},
    "vm": {"copied_s": 0.14, "booted_s": 4.1, "ready_s": 0.9},
}


@dataclass(frozen=True)
class MadeUp:
    """Parameters of synthetic records; `records()` returns the same ones every time."""

    environments: tuple[str, ...] = ("native", "container", "vm")
    workloads: tuple[str, ...] = ("ep", "cg", "is")
    repetitions: int = 12
    emulated_repetitions: int = 3
    title: str = "NPB on this machine"
    cost: dict[tuple[str, str], float] = field(
        default_factory=lambda: {("container", "cg"): 1.10, ("container", "is"): 1.02}
    )
    seed: int = 1

    def plan(self) -> Plan:
        environments = tuple(_environment(name) for name in self.environments)
        return Plan(
            name="this-machine",
            title=self.title,
            baseline="native",
            seed=self.seed,
            order="interleaved",
            warmup=1,
            stop=StoppingRule(minimum=5, maximum=self.repetitions, emulated=3),
            time_limit_s=600,
            environments=environments,
            cells=tuple(
                _cell(environment.name, workload)
                for workload in self.workloads
                for environment in environments
            ),
        )

    def records(self) -> list[Record]:
        rng = np.random.default_rng(self.seed)
        found = [r for name in self.environments for r in _allocations(rng, name)]
        clock = 1_760_000_000_000_000_000
        for repetition in range(-1, self.repetitions):
            for workload in self.workloads:
                drift = 1 + 0.03 * math.sin(repetition / 4)
                for name in self.environments:
                    if name == "vm" and repetition >= self.emulated_repetitions:
                        continue
                    clock += 3_000_000_000
                    duration = BASE_S[workload] * drift * self._factor(rng, name, workload)
                    found.append(_record(rng, _cell(name, workload), repetition, duration, clock))
        return found

    def with_(self, **changes: object) -> MadeUp:
        return replace(self, **changes)  # type: ignore[arg-type]

    def _factor(self, rng: np.random.Generator, name: str, workload: str) -> float:
        spike = rng.uniform(1.2, 2.0) if rng.random() < 0.05 else 1.0
        emulation = 38.0 if name == "vm" else 1.0
        cost = self.cost.get((name, workload), 1.0)
        return float(emulation * cost * spike * rng.lognormal(0, 0.012))


def _environment(name: str) -> EnvironmentSpec:
    kind = {"native": "native", "vm": "vm"}.get(name, "container")
    return EnvironmentSpec(name=name, kind=kind, cpus=2, memory_bytes=2**31)


def _cell(environment: str, workload: str) -> Cell:
    return Cell(
        id=f"{environment}/{workload}/threads=2",
        group=f"{workload}/threads=2",
        environment=environment,
        workload=WorkloadSpec(
            name=workload, program="npb", parameters={"kernel": workload}, time_limit_s=300
        ),
        factors={"threads": 2},
    )


def _allocations(rng: np.random.Generator, name: str) -> list[Record]:
    warnings = (EMULATED,) if name == "vm" else ()
    found = []
    for repetition in range(5):
        phases = {k: v * float(rng.lognormal(0, 0.08)) for k, v in PHASES.get(name, {}).items()}
        total = sum(phases.values()) or float(rng.lognormal(-8, 0.2))
        release = {"native": 1e-5, "vm": 0.31}.get(name, 0.018) * float(rng.lognormal(0, 0.1))
        values = {**phases, "total_s": total, "release_s": release}
        found.append(
            Record(
                cell=f"{name}/allocation",
                group="allocation",
                environment=name,
                workload="allocation",
                repetition=repetition,
                started_unix_ns=1_759_999_000_000_000_000 + repetition,
                samples=tuple(Sample(k, v, "s", "environment") for k, v in values.items()),
                warnings=warnings,
            )
        )
    return found


def _record(
    rng: np.random.Generator,
    cell: Cell,
    repetition: int,
    duration: float,
    clock: int,
) -> Record:
    name, workload = cell.environment, cell.workload.name
    samples = [
        Sample("duration_s", duration, "s"),
        Sample("throughput_mops", MOPS[workload] * BASE_S[workload] / duration, "Mop/s"),
        *_cpu(rng, name, "host"),
        Sample("context_switches", float(rng.integers(200, 900)), "count", "host"),
        Sample("load_of_others_cpus", float(rng.uniform(0, 0.3)), "CPUs", "host"),
        Sample("io_read_bytes", float(rng.integers(0, 2_000_000)), "B", "host"),
        Sample("core_frequency_hz_before", float(rng.normal(3.82e9, 2e7)), "Hz", "host"),
    ]
    if name == "vm":
        samples += _cpu(rng, name, "instance")
    warnings = [EMULATED] if name == "vm" else []
    if rng.random() < 0.08:
        warnings.append(
            Warning("load-of-others", "other programs kept 0.7 CPUs busy", "stop them, or repeat")
        )
    return Record(
        cell=cell.id,
        group=cell.group,
        environment=name,
        workload=workload,
        factors=cell.factors,
        repetition=max(repetition, 0),
        warmup=repetition < 0,
        started_unix_ns=clock,
        command=("/opt/aferir/npb", workload, "--threads", "2"),
        samples=tuple(samples),
        warnings=tuple(warnings),
    )


def _cpu(rng: np.random.Generator, name: str, side: str) -> list[Sample]:
    parts = {"user": 90.0, "system": 6.0 if name == "native" else 11.0, "steal": 3.0, "idle": 6.0}
    drawn = np.array([parts.get(s, 0.4) for s in STATES]) * rng.lognormal(0, 0.15, len(STATES))
    shares = 100 * drawn / drawn.sum()
    return [
        Sample(f"cpu_{state}_percent", float(share), "%", side)  # type: ignore[arg-type]
        for state, share in zip(STATES, shares, strict=True)
    ]


@pytest.fixture
def made_up() -> MadeUp:
    """Three environments: the virtual machine emulated, the container 10 % slower on cg."""
    return MadeUp()


@pytest.fixture
def provenance() -> Provenance:
    return Provenance(
        version="0.1.0",
        facts={
            "kernel": "Linux 6.18.0",
            "cpu": {"model": "Intel Xeon", "cores": 2, "frequency_hz": 2.7e9},
            "mitigations": ["spectre_v2: retpolines", "meltdown: not affected"],
        },
        segments=(Segment(started_unix_ns=1_760_000_000_000_000_000),),
        findings=(Finding("vm", "degraded", "KVM does not boot a guest", "needs nested VMX"),),
        left_out=(
            LeftOut(
                kind="environment",
                name="cloud",
                finding=Finding("cloud", "missing", "no OpenStack here", "see the guide"),
            ),
        ),
        commands={"native/ep/threads=2": ("/opt/aferir/npb", "ep")},
        warnings=(Warning("time-limit", "the run reached its limit of 600 s", "raise it"),),
    )


@pytest.fixture
def failure() -> Failure:
    return Failure(
        "unverified", "the kernel's result differs from the published one", "do not trust it"
    )
