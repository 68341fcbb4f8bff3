"""What a kind of environment is, and the Protocols of environments and of their instances.

A kind is one value in one module; nothing outside of that module asks for it by its name. This is
a whole one: programs run on the host, with as many heaps of malloc as one asks for, and have their
temporary files in a folder of the instance's own.

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
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Protocol

import msgspec

from aferir.environments.features import Feature
from aferir.environments.measured import Asked, Measured
from aferir.image.userland import Progress, silent
from aferir.linux import cleaning
from aferir.linux.cleaning import Cleaner
from aferir.linux.journal import Entry
from aferir.linux.process import Completed
from aferir.model.finding import Finding
from aferir.model.parameters import Field, fields
from aferir.model.plan import EnvironmentSpec


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds spent in each step of one allocation; they add up to the whole.

    The terms are those of Dutra 2015, chapter 5: TaR = TeF + TcI + TiI. None means that this
    kind of environment has no such step, or that it cannot be observed.
    """

    placed_s: float | None = None
    """TeF: choosing the physical node."""
    copied_s: float | None = None
    """TcI: making the instance's disk from the image."""
    booted_s: float | None = None
    """First part of TiI: until the instance's own first program runs."""
    ready_s: float | None = None
    """Second part of TiI: from there until a command can be run in it."""
    total_s: float
    """TaR, from the request until a command can be run."""

    @classmethod
    def between(cls, asked: float, copied: float, booted: float, ready: float) -> Phases:
        """The steps between four moments of one clock, in seconds."""
        return cls(
            copied_s=copied - asked,
            booted_s=booted - copied,
            ready_s=ready - booted,
            total_s=ready - asked,
        )


def _no_members(_: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {}


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """Where the host accounts for what an instance uses, and who else does."""

    cgroups: dict[str, Path] = {}
    """Controller to folder: `cpuacct`, `cpu`, `memory`, `blkio`; or `unified` (cgroup v2)."""
    processes: tuple[int, ...] = ()
    """Host processes that *are* the instance, e.g. the emulator."""
    processors: tuple[Path, ...] = ()
    """Processors of a guest: stat files of those threads of the host that are its processors."""
    own_kernel: bool = False
    """True where /proc inside the instance is the instance's own, as in a VM."""
    members: dict[str, Accounting] = {}
    """The accounting, by name, of the members of an instance that is several: nodes of a cluster,
    tenants."""
    entering: Callable[[Sequence[str]], Mapping[str, Sequence[str]]] = _no_members
    """The host's command that runs a given one inside, by member that has a kernel, and so a load,
    of its own."""
    elsewhere: Callable[[Asked], Measured] | None = None
    """Runs a program in an instance on another host, between two looks of that host; None: here."""


class Instance(Protocol):
    """One allocated instance. `release` may be called twice and always cleans up."""

    phases: Phases
    emulated: bool
    accounting: Accounting

    @property
    def spec(self) -> EnvironmentSpec:
        """What was asked for."""
        ...

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program in the instance to its end; same errors as `aferir.process.run`."""
        ...

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the instance, keeping its mode."""
        ...

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the instance to the host."""
        ...

    def pause(self) -> None:
        """Stop the instance from using any CPU, so that it disturbs no other measurement."""
        ...

    def resume(self) -> None:
        """Undo `pause`."""
        ...

    def release(self) -> float:
        """Give everything back; seconds that it took (TlR)."""
        ...


class Environment(Protocol):
    """One kind of environment."""

    kind: str

    def check(self) -> list[Finding]:
        """What this machine lacks for it, with the command that mends it. Changes nothing."""
        ...

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image with those packages besides its own.

        Its content hash for provenance, empty where there is none.
        """
        ...

    def allocate(self, spec: EnvironmentSpec) -> Instance:
        """Make an instance; MissingError where `check` has a `missing` finding."""
        ...


class Context(msgspec.Struct, frozen=True):
    """What any kind of environment is made with."""

    progress: Progress = silent
    """Told in words what takes long."""
    clean: Callable[[Sequence[Entry]], Sequence[str]] = partial(
        cleaning.clean, cleaners=cleaning.LINUX
    )
    """Undoes what ended programs have left in the journal; what it could not undo, in words."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of environment: everything that the rest of aferir has to know of it."""

    name: str
    """What `kind` says in an experiment file."""
    spec: type[EnvironmentSpec]
    """What one environment of it is, see there."""
    make: Callable[[Context], Environment]
    """Makes nothing on the machine yet."""
    clean: Mapping[str, Cleaner] = {}
    """What undoes, by their kind, journal entries that only this kind of environment writes."""
    least_memory_bytes: int = 2**24
    """Below it nothing starts in an instance, or in one of its nodes."""
    most_cpus: int | None = None
    """The most CPUs of one instance, where the kind has fewer than the host may have."""
    on_host: bool = False
    """Whether its programs run where aferir does: on the host's kernel, and with its files."""
    has_image: bool = False
    """Whether instances start from the image, which gets the Debian packages of programs."""
    any_program: bool = True
    """Whether programs run in it that do not name it, as those that ask a cloud for instances."""
    features: tuple[Feature, ...] = ()
    """What can be taken away from its instances to find what it costs."""
    mpi: str = ""
    """The MPI that starts programs on all nodes of an instance; empty: there is one node."""

    @property
    def keys(self) -> tuple[Field, ...]:
        """What may be written in its `[[environment]]` tables, besides `name` and `kind`."""
        return tuple(field for field in fields(self.spec) if field.help)
