"""What is to be run: environments, workloads, cells and the rules that order and stop them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from aferir.model.cloud import Wanted

Parameter = str | int | float | bool
"""A workload parameter or a factor level, as TOML gives it."""

Order = Literal["interleaved", "random"]
EnvironmentKind = str
"""Name of a kind of environment: see `aferir.environments.base.Kind`."""
NodeKind = Literal["container", "vm"]
"""What the nodes of a virtual cluster are made of."""
Placement = Literal["spread", "packed", "reserve", "free"]
"""How the nodes of a virtual cluster get the host's CPUs: see `aferir.cluster.placing`."""

SCRATCH = "AFERIR_SCRATCH"
"""Variable with the folder that a program may fill with files. Who builds the command names any
folder there; an environment with the host's own file system puts a folder of this run alone
in its place, which is gone after the run whatever happens."""


class HostLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine has, so that an impossible experiment is refused before it starts."""

    cpus: tuple[int, ...]
    """Numbers of the CPUs that we may run on."""
    memory_bytes: int
    """Of the machine, or what a control group around us leaves of it."""
    cpu_quota: float | None = None
    """CPUs that all we start may use together, by a control group around us; None: no limit."""

    @property
    def most_cpus(self) -> int:
        """How many CPUs a program can keep busy here: 1 at least."""
        have = len(self.cpus)
        return have if self.cpu_quota is None else max(1, min(have, math.ceil(self.cpu_quota)))


class EnvironmentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One environment as an instance of it will be allocated."""

    name: str
    kind: EnvironmentKind
    cpus: int
    memory_bytes: int
    pin: tuple[int, ...] = ()
    """Host CPUs that the instance may use; empty: all of them."""
    cpu_quota: float | None = None
    """Share of its CPUs that the instance may use, 0 < quota <= 1; None: no limit."""
    huge_pages: bool = True
    """False: never; True: as the host has it set."""
    merge_pages: bool = False
    """Whether the kernel may merge equal pages (KSM), within the instance and with others."""
    tenants: int = 1
    """Instances that run the same program at the same time, each with these CPUs and memory."""
    nodes: int = 1
    """Of a cluster; `cpus` and `memory_bytes` are those of each."""
    node_kind: NodeKind = "container"
    placement: Placement = "spread"
    disk_bytes: int = 0
    """Size of a disk of its own for the programs' files; 0: they are on the host's."""
    disk_bps: int = 0
    """Bytes a second that such a disk is held to; 0: as many as it can."""
    suite: str = ""
    """Release of the distribution that a cluster's containers have; empty: the host's."""
    cloud: Wanted | None = None
    """Whose instances, of kind `cloud`; None: those of hosts that are simulated here."""
    accounted: bool = False
    """What it uses is to be told from what everything else uses: it gets control groups."""
    packages: tuple[str, ...] = ()
    """Debian packages that its image needs for the programs of the experiment; natively the host
    has them or the program is left out."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The server that costs of I/O are reckoned for, see `statistics.io_cost`."""

    cores: int
    peak_w: float
    """All cores busy, without storage."""
    peak_error_w: float = 0.0
    """Standard uncertainty, e.g. of a UPS that shows its load in whole percent."""
    idle_fractions: tuple[float, ...] = (0.0, 0.7)
    """Power when idle over `peak_w`: costs are reckoned for each of them."""
    results_per_day: float | None = None
    """How often a year's sum has each program run; None: as often as the baseline can."""


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One program with its parameters fixed."""

    name: str
    program: str
    """Which backend of `aferir.programs` builds the command, e.g. `npb`."""
    parameters: dict[str, Parameter]
    time_limit_s: float
    skip_emulated: bool = False
    """Not to be run in an environment that turns out to be emulated in software."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of environment, workload and factor levels."""

    id: str
    """Stable over resumes, e.g. `container/ep/threads=2`."""
    group: str
    """Cells of one group differ in their environment alone and are compared: `ep/threads=2`."""
    environment: str
    workload: WorkloadSpec
    factors: dict[str, Parameter] = {}


class StoppingRule(msgspec.Struct, frozen=True, kw_only=True):
    """Fixed n where `minimum == maximum`; else until the interval is narrow enough.

    A group of cells goes on, all environments together, until every one of them has a
    95 % confidence interval of its mean duration whose half-width is below
    `interval_percent` of the mean, or `maximum` repetitions.
    """

    minimum: int
    maximum: int
    interval_percent: float | None = None
    emulated: int
    """Repetitions for an environment that turns out to be emulated in software."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole experiment, ready to run: cells x repetitions in a seeded order."""

    name: str
    title: str
    baseline: str
    """Name of the environment that ratios refer to; in a group whose environments are variants
    (`native[cpus=1]`), the variant of that family: see `environment_family`."""
    seed: int
    order: Order
    warmup: int
    """Unrecorded-in-statistics rounds that go before the first one."""
    stop: StoppingRule
    time_limit_s: float
    metric: str = ""
    """What the study asks about, which its levels are compared by; empty: `duration_s`, where
    there is one environment alone and so no other comparison."""
    server: ServerSpec | None = None
    """Where it is given, what each program costs per I/O is accounted for."""
    load_period_s: float | None = None
    """How often the load of each core is looked at during runs; None: never."""
    environments: tuple[EnvironmentSpec, ...]
    cells: tuple[Cell, ...]


def once(
    name: str,
    *,
    environments: Sequence[EnvironmentSpec],
    workloads: Sequence[WorkloadSpec],
    time_limit_s: float,
    seed: int = 1,
    server: ServerSpec | None = None,
) -> Plan:
    """Each workload once in each environment, the first of which is the baseline."""
    return Plan(
        name=name,
        title=name,
        baseline=environment_family(environments[0].name),
        seed=seed,
        order="interleaved",
        warmup=0,
        stop=StoppingRule(minimum=1, maximum=1, emulated=1),
        time_limit_s=time_limit_s,
        server=server,
        environments=tuple(environments),
        cells=tuple(
            Cell(
                id=f"{environment.name}/{workload.name}",
                group=workload.name,
                environment=environment.name,
                workload=workload,
            )
            for workload in workloads
            for environment in environments
        ),
    )


def environment_family(name: str) -> str:
    """The name that the user gave: `container` for the variant `container[cpus=1]`.

    A factor of an environment makes one variant for each level; names themselves hold no brackets.
    """
    return name.partition("[")[0]
