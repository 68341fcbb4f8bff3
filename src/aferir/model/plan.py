"""What is to be run: environments, workloads, cells and the rules that order and stop them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec

from aferir.model.checking import Wrong
from aferir.model.design import Design
from aferir.model.host import HostSpec
from aferir.model.parameters import number, several, size, text, told, whole

Parameter = str | int | float | bool
"""A workload parameter or a factor level, as TOML gives it."""

Order = Literal["interleaved", "random"]
EnvironmentKind = str
"""Name of a kind of environment: see `aferir.environments.base.Kind`."""

PROGRAM_FOLDER = PurePosixPath("/opt/aferir")
"""Where an instance with a file system of its own gets our programs."""
PAGE_CACHE = "AFERIR_PAGE_CACHE"
"""Variable by which an environment tells the launcher of commands what its page cache is."""
SCRATCH = "AFERIR_SCRATCH"
"""Variable with the folder that a program may fill with files. Who builds the command names any
folder there; an environment with the host's own file system puts a folder of this run alone
in its place, which is gone after the run whatever happens."""


class HostLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine has, so that an impossible experiment is refused before it starts."""

    cpus: tuple[int, ...]
    """Numbers of the CPUs that we may run on."""
    memory_bytes: int
    """Memory of the machine, or what a control group around us leaves of it."""
    cpu_quota: float | None = None
    """CPUs that all we start may use together, by a control group around us; None: no limit."""
    others: dict[str, HostLimits] = {}
    """What other hosts have, by name."""
    unknown: bool = False
    """Nobody has asked the host: nothing is refused for its sake before it is reached."""

    def at(self, host: str) -> HostLimits:
        """What another host has; of this one where `host` is empty."""
        if "," in host and all(one in self.others for one in host.split(",")):
            return self.least_of(host.split(","))
        return self.others.get(host, UNASKED) if host else self

    def least_of(self, hosts: Sequence[str]) -> HostLimits:
        """What each of those other hosts has at least; names are known."""
        found = [self.others[host] for host in hosts]
        fewest = min(found, key=lambda one: one.most_cpus)
        return msgspec.structs.replace(
            fewest,
            memory_bytes=min(one.memory_bytes for one in found),
            unknown=any(one.unknown for one in found),
        )

    @property
    def most_cpus(self) -> int:
        """How many CPUs a program can keep busy here: 1 at least."""
        have = len(self.cpus)
        return have if self.cpu_quota is None else max(1, min(have, math.ceil(self.cpu_quota)))


UNASKED = HostLimits(cpus=tuple(range(4096)), memory_bytes=2**62, unknown=True)
"""What is assumed of a host that could not be asked."""

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
        "name of the [[host]] that it is on; of a native one several, `node1,node2`, for ranks of "
        "Open MPI on all of them",
        example="node1",
        unset="where aferir runs",
    ),
]


class EnvironmentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One environment as an instance of it will be allocated.

    Each kind has a struct of its own that inherits this one. What is described in that struct is a
    key of the kind in an experiment file; the rest has a neutral value here, and is a key of those
    kinds that declare it again with its description, e.g. `tenants: Tenants = 1`.
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
    accounted: bool = False
    """What it uses is to be told from what everything else uses: it gets control groups."""
    packages: tuple[str, ...] = ()
    """Debian packages that its image needs for the programs of the experiment; natively the host
    has them or the program is left out."""

    @property
    def place(self) -> str:
        """Its kind, and its host where that is another one."""
        return f"{self.kind}@{self.host}" if self.host else self.kind

    def machines(self) -> int:
        """How many there are in one instance, each with these CPUs and this memory."""
        return self.host.count(",") + 1

    def kept_bytes(self) -> int:
        """What a kernel of its own and its user land keep of each one's memory, about."""
        return 0

    def user_kernel(self) -> str:
        """A kernel in user space that its programs run on, in words; empty: there is none."""
        return ""

    def conflicts(self) -> tuple[Wrong, ...]:
        """What is wrong with keys that are right by themselves."""
        return ()


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
    hosts: tuple[HostSpec, ...] = ()
    """Those that environments name."""
    design: Design | None = None
    """Where one environment is explained, which of its features each arm has."""
    environments: tuple[EnvironmentSpec, ...]
    cells: tuple[Cell, ...]
    shrunk: tuple[str, ...] = ()
    """What the experiment asked for more of than this machine has, a sentence each."""


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
