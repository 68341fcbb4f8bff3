"""Plan of an experiment: environments, workloads, cells, and the rules that order and stop them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec

from aferir.model.checking import Wrong
from aferir.model.design import Design
from aferir.model.host import HostSpec, Price
from aferir.model.overlay import Overlay
from aferir.model.parameters import internal, number, several, size, text, told, whole
from aferir.model.record import allocation_cell

Parameter = str | int | float | bool
"""A workload parameter or a factor level, as read from TOML."""

Order = Literal["interleaved", "random"]
EnvironmentKind = str
"""Name of a kind of environment: see `aferir.environments.base.Kind`."""

PROGRAM_FOLDER = PurePosixPath("/opt/aferir")
"""Folder of our programs in an instance that has its own file system."""
PAGE_CACHE = "AFERIR_PAGE_CACHE"
"""Environment variable that tells the launcher of commands the state of the page cache to set up.
"""
SCRATCH = "AFERIR_SCRATCH"
"""Environment variable with the scratch folder of a program. The command may name any folder; an
environment that uses the host's file system replaces it by a folder of this run alone, which is
removed after the run even if the run fails.
"""


class HostLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Resources of the machine, by which an impossible experiment is refused before it starts."""

    cpus: tuple[int, ...]
    """Numbers of the CPUs that aferir may run on."""
    memory_bytes: int
    """Memory of the machine in bytes, or the limit of a control group around aferir."""
    cpu_quota: float | None = None
    """CPUs that all processes of aferir may use together under a control group's quota; None: no
    limit.
    """
    others: dict[str, HostLimits] = {}
    """Resources of other hosts, by name."""
    unknown: bool = False
    """True if the host was not asked: nothing is refused for lack of resources before it is
    reached.
    """

    def at(self, host: str) -> HostLimits:
        """Resources of another host, or of this one if `host` is empty."""
        if "," in host and all(one in self.others for one in host.split(",")):
            return self.least_of(host.split(","))
        return self.others.get(host, UNASKED) if host else self

    def least_of(self, hosts: Sequence[str]) -> HostLimits:
        """Smallest CPU count and smallest memory among `hosts`, all of which must be known."""
        found = [self.others[host] for host in hosts]
        fewest = min(found, key=lambda one: one.most_cpus)
        return msgspec.structs.replace(
            fewest,
            memory_bytes=min(one.memory_bytes for one in found),
            unknown=any(one.unknown for one in found),
        )

    @property
    def most_cpus(self) -> int:
        """Number of CPUs that a program can keep busy here, at least 1."""
        have = len(self.cpus)
        return have if self.cpu_quota is None else max(1, min(have, math.ceil(self.cpu_quota)))


UNASKED = HostLimits(cpus=tuple(range(4096)), memory_bytes=2**62, unknown=True)
"""Resources assumed of a host that could not be asked."""

Cpus = Annotated[
    int,
    whole(
        "CPUs that its programs find, up to the host's; of a cluster, in each node",
        1,
        4096,
        unit="CPUs",
        unset="as many as are pinned, else as the host has",
    ),
]
Memory = Annotated[
    int,
    size(
        "memory, up to the host's; of a cluster, in each node",
        1,
        2**62,
        bare=False,
        unset="1 GiB, or all of the host's where programs run on the host",
        key="memory",
    ),
]
Pin = Annotated[
    tuple[Annotated[int, whole("number of a CPU", 0, 2**16)], ...],
    several("numbers of the host's CPUs that it may use, at least as many as `cpus`", unset="all"),
]
CpuQuota = (
    Annotated[float, number("share of its CPUs that it may use", above=0, most=1, unset="no limit")]
    | None
)
HugePages = Annotated[
    bool, told("whether its memory may get transparent huge pages, as the host has it set")
]
MergePages = Annotated[
    bool,
    told(
        "whether the kernel may merge its equal pages, with each other and with those of other "
        "instances (KSM); takes root, and the host's switch is set back afterwards"
    ),
]
PageCache = Annotated[
    Literal["warm", "cold"],
    told(
        'whether files that `program = "command"` takes along are in memory when it starts, or '
        "on the disk alone"
    ),
]
Tenants = Annotated[
    int,
    whole(
        "instances that run each program at the same time, every one with these CPUs and this "
        "memory; CPUs are shared where the host has too few",
        1,
        64,
        unit="instances",
    ),
]


Host = Annotated[
    str,
    text(
        "name of the [[host]] that it is on, or of several, with an instance on each, for programs "
        "that use all",
        example="node1",
        separator=",",
        unset="where aferir runs",
    ),
]


class EnvironmentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Specification of one environment, by which its instances are allocated.

    Each kind has its own struct that inherits this one. Fields with a description are keys of the
    kind in an experiment file; other fields have a neutral value here, and are keys of those kinds
    that declare them again with a description, e.g. `tenants: Tenants = 1`.
    """

    name: str
    kind: EnvironmentKind
    cpus: Cpus
    memory_bytes: Memory
    pin: Pin = ()
    host: Host = ""
    cpu_quota: float | None = None
    huge_pages: bool = True
    merge_pages: bool = False
    page_cache: Literal["warm", "cold"] = "warm"
    tenants: int = 1
    stagger: float = 0.0
    """Seconds between the starts of a program in one tenant and in the next."""
    accounted: bool = False
    """True if its resource use is accounted separately from everything else, by control groups."""
    packages: tuple[str, ...] = ()
    """Debian packages that its image needs for the programs of the experiment; a native environment
    either has them or leaves the program out.
    """
    overlay: Annotated[Overlay | None, internal()] = None
    """Network to the instances on the other hosts, known once it is allocated; None: the
    environment is on one host, or uses the network of its hosts.
    """

    @property
    def is_spread(self) -> bool:
        """True if it is on several hosts, with an instance on each."""
        return "," in self.host

    @property
    def place(self) -> str:
        """Kind of the environment, and its host if it is on another host."""
        return f"{self.kind}@{self.host}" if self.host else self.kind

    def machines(self) -> int:
        """Number of machines in one instance, each with the CPUs and the memory specified here."""
        return self.host.count(",") + 1

    def kept_bytes(self) -> int:
        """Approximate memory in bytes that its own kernel and userland occupy on each machine."""
        return 0

    def user_kernel(self) -> str:
        """Description of the user-space kernel that its programs run on; empty: there is none."""
        return ""

    def conflicts(self) -> tuple[Wrong, ...]:
        """Errors in combinations of keys that are valid by themselves."""
        return ()


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Server for which the costs of I/O are calculated, see `statistics.io_cost`."""

    cores: int
    peak_w: float
    """Power in W with all cores busy, without storage."""
    peak_error_w: float = 0.0
    """Standard uncertainty of `peak_w` in W, e.g. of a UPS that shows its load in whole percent."""
    idle_fractions: tuple[float, ...] = (0.0, 0.7)
    """Idle power over `peak_w`; costs are calculated for each of these fractions."""
    results_per_day: float | None = None
    """Runs of each program per day in the yearly cost; None: the most that the baseline can do."""


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One program with its parameters fixed."""

    name: str
    program: str
    """Name of the program in `aferir.programs`, e.g. `npb`."""
    parameters: dict[str, Parameter]
    time_limit_s: float
    skip_emulated: bool = False
    """True if it is skipped in environments that turn out to be emulated in software."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of environment, workload and factor levels."""

    id: str
    """Identifier that stays the same when a run is resumed, e.g. `container/ep/threads=2`."""
    group: str
    """Cells that differ in their environment alone share a group and are compared: `ep/threads=2`.
    """
    environment: str
    workload: WorkloadSpec
    factors: dict[str, Parameter] = {}


class StoppingRule(msgspec.Struct, frozen=True, kw_only=True):
    """Number of repetitions: fixed if `minimum == maximum`, else until the interval is narrow.

    A group of cells continues, all environments together, until the 95 % confidence interval of the
    mean duration has a half-width below `interval_percent` of the mean in every one of them, or
    until `maximum` repetitions.
    """

    minimum: int
    maximum: int
    interval_percent: float | None = None
    emulated: int
    """Repetitions for an environment that turns out to be emulated in software."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole experiment, ready to run: cells and repetitions in a seeded order."""

    name: str
    title: str
    baseline: str
    """Name of the environment that ratios refer to; in a group whose environments are variants
    (`native[cpus=1]`), the variant of that family: see `environment_family`.
    """
    seed: int
    order: Order
    warmup: int
    """Number of warm-up rounds, whose figures are recorded but excluded from the statistics."""
    stop: StoppingRule
    time_limit_s: float
    metric: str = ""
    """Metric by which levels of a study are compared; empty: `duration_s`, for one environment."""
    server: ServerSpec | None = None
    """If set, the cost per I/O of each program is calculated for this server."""
    power: str = ""
    """Source of this host's power, e.g. `rapl`; empty: none is read."""
    price_per_hour: Price | None = None
    """Price of an hour on this host; None: its results have no cost."""
    load_period_s: float | None = None
    """Sampling period in s of the load of each core during runs; None: it is not sampled."""
    hosts: tuple[HostSpec, ...] = ()
    """Hosts that environments name."""
    design: Design | None = None
    """If one environment is explained, the features of each arm."""
    environments: tuple[EnvironmentSpec, ...]
    cells: tuple[Cell, ...]
    shrunk: tuple[str, ...] = ()
    """Sentences about the requests that were reduced because they exceed what this machine has."""


def recorded_cells(plan: Plan) -> frozenset[str]:
    """Cells that a record of this plan may have: the plan's, and the allocation of environments."""
    allocations = (allocation_cell(spec.name) for spec in plan.environments)
    return frozenset((*(cell.id for cell in plan.cells), *allocations))


def once(
    name: str,
    *,
    environments: Sequence[EnvironmentSpec],
    workloads: Sequence[WorkloadSpec],
    time_limit_s: float,
    seed: int = 1,
    server: ServerSpec | None = None,
) -> Plan:
    """Plan that runs each workload once in each environment, the first of which is the baseline."""
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
    """Name that the user chose: `container` for the variant `container[cpus=1]`.

    A factor of an environment makes one variant for each level; names themselves contain no
    brackets.
    """
    return name.partition("[")[0]
