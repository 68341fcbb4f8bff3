"""Defines kinds of environment, and the Protocols of environments and of their instances.

A kind is one value in one module; no other module refers to it by name. The following is a complete
one: programs run on the host with a given number of malloc heaps, and with their temporary files in
a folder of the instance's own.

    import tempfile
    import time
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Annotated

    from aferir.environments.base import Kind
    from aferir.environments.native import Native, NativeInstance
    from aferir.linux import affinity, cleaning, journal
    from aferir.linux.process import Completed
    from aferir.model.parameters import whole
    from aferir.model.plan import EnvironmentKind, EnvironmentSpec

    KIND = "heaps"

    def folder_of(entry: journal.Entry) -> Path:
        return Path(entry.details["parent"]) / f"aferir-{entry.id}"

    def give_back(entry: journal.Entry) -> None:
        # Also where the one who made it was killed, and where it was never made.
        cleaning.remove_marked_folder(entry, folder_of(entry))

    class HeapsSpec(EnvironmentSpec, frozen=True, kw_only=True):
        kind: EnvironmentKind = KIND
        heaps: Annotated[int, whole("heaps that threads share (mallopt(3))", 1, 1024)] = 8

    class Heaps(Native):
        kind = KIND

        def allocate(self, spec: EnvironmentSpec) -> HeapsInstance:
            assert isinstance(spec, HeapsSpec)
            clock = time.perf_counter()
            cpus = affinity.cpu_set(spec, affinity.host_cpus())
            entry = journal.write(KIND, {"parent": tempfile.gettempdir()})  # before it is made
            try:
                folder_of(entry).mkdir(mode=0o700)
            except BaseException:
                give_back(entry)
                raise
            return HeapsInstance(spec, cpus, entry, time.perf_counter() - clock)

    class HeapsInstance(NativeInstance):
        def __init__(
            self, spec: HeapsSpec, cpus: tuple[int, ...], entry: journal.Entry, total_s: float
        ) -> None:
            super().__init__(spec, cpus, None, {}, total_s)
            self._made = entry
            self._variables = {
                "MALLOC_ARENA_MAX": str(spec.heaps), "TMPDIR": str(folder_of(entry)),
            }

        def run(
            self,
            command: Sequence[str],
            *,
            timeout_s: float | None = None,
            environment: Mapping[str, str] | None = None,
            check: bool = True,
        ) -> Completed:
            own = {**self._variables, **(environment or {})}
            return super().run(command, timeout_s=timeout_s, environment=own, check=check)

        def release(self) -> float:
            clock = time.perf_counter()
            give_back(self._made)
            return time.perf_counter() - clock

    HEAPS = Kind(name=KIND, spec=HeapsSpec, make=Heaps, clean={KIND: give_back}, on_host=True)

It is registered by a line in `aferir.registry`, or by an entry point of another package (see
`aferir.extensions`), and tested by a class that derives from those in
`tests/integration/contract.py`. From then on
`kind = "heaps"` and `"environment.heaps" = [1, 8]` may stand in experiment files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

import msgspec

from aferir.environments.features import Feature
from aferir.environments.measured import Asked, Measured
from aferir.image.progress import Progress, silent
from aferir.linux.journal import Entry
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.parameters import Field, fields
from aferir.model.plan import EnvironmentSpec

if TYPE_CHECKING:
    from aferir.linux.cleaning import Cleaner


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    """Duration of each step of an allocation in s.

    The terms are those of Dutra 2015, chapter 5: TaR = TeF + TcI + TiI. None means that this kind
    of environment has no such step, or that it cannot be observed.
    """

    placed_s: float | None = None
    """TeF: time to choose the physical node."""
    copied_s: float | None = None
    """TcI: time to copy the image to the instance's disk."""
    booted_s: float | None = None
    """First part of TiI: from the end of the copy until the instance's first program runs."""
    ready_s: float | None = None
    """Second part of TiI: from the start of the first program until a command can be run."""
    total_s: float
    """TaR: from the request until a command can be run."""

    @classmethod
    def between(cls, asked: float, copied: float, booted: float, ready: float) -> Phases:
        """Phases between four times of one clock, in s."""
        return cls(
            copied_s=copied - asked,
            booted_s=booted - copied,
            ready_s=ready - booted,
            total_s=ready - asked,
        )


def _no_members(_: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {}


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """Files and processes in which the host accounts for what an instance and its members use."""

    cgroups: dict[str, Path] = {}
    """Folder by controller: `cpuacct`, `cpu`, `memory`, `blkio`; or `unified` (cgroup v2)."""
    processes: tuple[int, ...] = ()
    """Host processes that *are* the instance, e.g. the emulator."""
    processors: tuple[Path, ...] = ()
    """Virtual processors of a guest: stat files of the host threads that run them."""
    own_kernel: bool = False
    """True if /proc inside the instance is the instance's own, as in a VM."""
    members: dict[str, Accounting] = {}
    """Accounting by name of the members of an instance that has several: nodes of a cluster,
    tenants.
    """
    entering: Callable[[Sequence[str]], Mapping[str, Sequence[str]]] = _no_members
    """For a given command, returns the commands of the host that run it inside, by name: one for
    each member with its own kernel, since only there its load can be read.
    """
    elsewhere: Callable[[Asked], Measured] | None = None
    """Runs a program in an instance on another host, between two snapshots taken there; None: the
    instance is on this host.
    """


class Instance(Protocol):
    """One allocated instance. `release` may be called twice and always cleans up."""

    phases: Phases
    emulated: bool
    accounting: Accounting

    @property
    def spec(self) -> EnvironmentSpec:
        """Specification from which the instance was allocated."""
        ...

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program in the instance to its end; same errors as `aferir.linux.process.run`."""
        ...

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the instance, preserving its mode."""
        ...

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the instance to the host."""
        ...

    def pause(self) -> None:
        """Stop the instance from using any CPU, so that it does not disturb other measurements."""
        ...

    def resume(self) -> None:
        """Undo `pause`."""
        ...

    def release(self) -> float:
        """Release all resources; returns the duration in s (TlR)."""
        ...


class Environment(Protocol):
    """One kind of environment on this machine, which makes instances."""

    kind: str

    def check(self) -> list[Finding]:
        """Findings about what this machine lacks for it, with remedies. Changes nothing."""
        ...

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image with `packages` added; returns its content hash.

        The hash is for the provenance; it is empty for kinds without an image.
        """
        ...

    def allocate(self, spec: EnvironmentSpec) -> Instance:
        """Allocate an instance. Errors: MissingError if `check` has a `missing` finding."""
        ...


def _clean(entries: Sequence[Entry]) -> Sequence[str]:
    from aferir.linux import cleaning  # with it come all modules that make something

    return cleaning.clean(entries, cleaning.LINUX)


def _as_it_is(spec: EnvironmentSpec) -> EnvironmentSpec:
    return spec


class Context(msgspec.Struct, frozen=True):
    """Parameters from which a kind makes its environment."""

    progress: Progress = silent
    """Function that is called with messages about slow steps."""
    clean: Callable[[Sequence[Entry]], Sequence[str]] = _clean
    """Removes what the journal records of dead owners; returns messages about what it could not
    remove.
    """


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of environment: all that the rest of aferir needs to know about it."""

    name: str
    """Value of the key `kind` in an experiment file."""
    spec: type[EnvironmentSpec]
    """Struct that specifies one environment of the kind, and declares its keys."""
    make: Callable[[Context], Environment]
    """Makes the environment; allocates nothing on the machine."""
    clean: Mapping[str, Cleaner] = {}
    """Cleaner for each kind of journal entry that only this kind of environment writes."""
    least_memory_bytes: int = 2**24
    """Smallest memory in bytes with which an instance, or each node of one, starts."""
    most_cpus: int | None = None
    """Largest number of CPUs of one instance; None: as many as the host has."""
    on_host: bool = False
    """True if its programs run on the host's kernel with the host's files."""
    has_image: bool = False
    """True if instances start from the image, which includes the Debian packages of programs."""
    any_program: bool = True
    """True if any program runs in it; False if only programs that name the kind do, as for clouds.
    """
    features: tuple[Feature, ...] = ()
    """Features that can be removed from its instances to measure their cost."""
    settled: Callable[[EnvironmentSpec], EnvironmentSpec] = _as_it_is
    """Returns the specification with each setting replaced that has the effect of another one on
    this host: two environments whose results are equal but for their names are the same.
    """
    spreads: bool = False
    """True if one environment may be on several hosts: see `aferir.model.overlay`."""
    mpi: str = ""
    """MPI that starts programs on all nodes of an instance; empty: there is one node."""

    @property
    def keys(self) -> tuple[Field, ...]:
        """Keys of its `[[environment]]` tables other than `name` and `kind`."""
        return tuple(field for field in fields(self.spec) if field.help)
