"""A cluster as an environment of experiments: created for a round, and removed after it.

Programs that are launched by MPI run on all nodes, by the cluster's own mpirun; others run on the
front end only.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from aferir.cluster import configuration, files, manager, placing, workshop
from aferir.cluster.containers import ContainerNodes
from aferir.cluster.description import Boot, Description, Interface, NodeKind, Placement, State
from aferir.environments import rooted
from aferir.environments.base import Accounting, Kind, Phases
from aferir.environments.lxc import attach, container
from aferir.environments.qemu import kvm
from aferir.errors import MissingError, ProgramError
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.linux import affinity, journal, undo
from aferir.linux.process import Completed, explain_exit
from aferir.machine import privileges, processors
from aferir.model.checking import Wrong
from aferir.model.finding import Finding
from aferir.model.parameters import duration, text, told, whole
from aferir.model.plan import Cpus, EnvironmentKind, EnvironmentSpec, Tenants

KIND = "cluster"
_SHARED = PurePosixPath("/home")
AUTHORIZED = PurePosixPath(configuration.FOLDER) / "authorized_keys"
"""File on the nodes with the users' public keys. For a cluster on several hosts, `put` replaces it
by one with the keys of all hosts.
"""
KNOWN = PurePosixPath(configuration.FOLDER) / "known_hosts"
"""File on the nodes with the nodes' public keys, replaced in the same way as `AUTHORIZED`."""
_RELEASE = "[a-z]{1,30}"


def _release(name: str) -> str:
    if not re.fullmatch(_RELEASE, name):
        raise ValueError("is no release")
    return name


class ClusterSpec(EnvironmentSpec, frozen=True, kw_only=True):
    """A virtual cluster; `cpus` and `memory_bytes` are those of each node."""

    kind: EnvironmentKind = KIND
    cpus: Cpus = 1
    tenants: Tenants = 1
    stagger: Annotated[
        float,
        duration(
            "between the starts of a program in one of several clusters (`tenants`) and in the "
            "next; 0: all at once",
            0.0,
            3600.0,
            bare=False,
        ),
    ] = 0.0
    nodes: Annotated[int, whole("nodes, the front end among them", 1, 250, unit="nodes")] = 2
    node_kind: Annotated[
        NodeKind, told("what nodes are: containers, or guests with kernels of their own")
    ] = "container"
    placement: Annotated[
        Placement,
        told(
            "how nodes get the host's CPUs, or those of `pin`: `spread`, each its own as far as "
            "they suffice, far from one another; `packed`, close together; `reserve`, spread, and "
            "the host's first core left alone; `free`, each may use all, and the kernel decides"
        ),
    ] = "spread"
    boot: Annotated[
        Boot,
        told(
            "how workers boot: `diskless`, what they write stays in RAM; `disk`, each has a disk; "
            "`pxe`, guests get kernel and root from the front end over the network, by PXE, and "
            "what they write stays in RAM"
        ),
    ] = "diskless"
    suite: (
        Annotated[
            str,
            text(
                "another release of the host's distribution as the userland of containers, a later "
                "one, since programs are built on the host",
                "trixie",
                parse=_release,
                pattern=_RELEASE,
                unset="the host's release",
            ),
        ]
        | None
    ) = None

    network_device: (
        Annotated[
            Interface,
            told(
                "what the network interface of guests is; they have the distribution's whole "
                "kernel then",
                unset="virtio, under the image's own kernel",
            ),
        ]
        | None
    ) = None

    def machines(self) -> int:
        """Number of nodes of the cluster."""
        return self.nodes

    def kept_bytes(self) -> int:
        """Bytes of each node's memory that its system uses."""
        return manager.of_kind(self.node_kind).kept_bytes

    def conflicts(self) -> tuple[Wrong, ...]:
        """Report settings that this kind of nodes lacks, and hosts that would have no node."""
        if self.nodes < len(self.host.split(",")):
            said = "are fewer than its hosts, each of which has one"
            return (Wrong("nodes", said, "ask for more, or name fewer hosts"),)
        guests = manager.of_kind(self.node_kind).own_kernel
        if self.suite is not None and guests:
            said = "guests have the host's release"
            return (Wrong("suite", said, "remove it, or `node_kind`"),)
        if self.network_device is not None and not guests:
            return (Wrong("network_device", "containers have none", 'add `node_kind = "vm"`'),)
        if self.boot == "pxe" and not guests:
            return (Wrong("boot", "containers have no firmware", 'add `node_kind = "vm"`'),)
        if self.boot == "pxe" and self.is_spread:
            said = "a front end serves the nodes of its own host alone"
            return (Wrong("boot", said, "remove it, or name one host"),)
        return ()


def settled(spec: EnvironmentSpec) -> EnvironmentSpec:
    """The specification with the first placement that gives its nodes the same CPUs here."""
    assert isinstance(spec, ClusterSpec)
    host = processors.read(spec.pin or affinity.host_cpus())
    how = placing.first_like(spec.placement, spec.nodes, spec.cpus, host)
    return msgspec.structs.replace(spec, placement=how)


class Cluster:
    """Creates clusters of any specification; needs root."""

    kind = KIND

    def __init__(self, progress: Progress = silent) -> None:
        self._progress = progress

    def check(self) -> list[Finding]:
        """Findings on what containers need; guests are checked when they are created."""
        if not privileges.is_root():
            said = "only root may make clusters"
            return [Finding(KIND, "missing", said, privileges.as_root_command())]
        return [*files.check(), *ContainerNodes().check(), *userland.check(manager.PACKAGES)]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image, which experiments do not extend; returns its content hash."""
        return userland.ensure(self._progress, manager.PACKAGES).metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> ClusterInstance:
        """Create a cluster that ends with this process.

        Errors: MissingError if this machine lacks something, ProgramError if a node fails.
        """
        assert isinstance(spec, ClusterSpec)
        description = Description(
            name=f"run-{uuid.uuid4().hex[:12]}",
            nodes=spec.nodes,
            kind=spec.node_kind,
            cpus=spec.cpus,
            memory_bytes=spec.memory_bytes,
            placement=spec.placement,
            network_device=spec.network_device,
            boot=spec.boot,
        )
        manager.require(description)
        base = userland.ensure(self._progress, manager.packages(description), spec.suite or "")
        clock = time.perf_counter()
        host = affinity.pinned(spec, affinity.host_cpus())
        state = manager.create_from(
            description,
            lambda _: base.folder,
            self._progress,
            host=host,
            keep=False,
            overlay=spec.overlay,
        )
        emulated = manager.backend(description).own_kernel and not kvm.verdict(base).works
        return ClusterInstance(spec, state, emulated, time.perf_counter() - clock)


class ClusterInstance:
    """A cluster whose nodes run."""

    def __init__(self, spec: ClusterSpec, state: State, emulated: bool, total_s: float) -> None:
        self.spec = spec
        self.phases = Phases(total_s=total_s)
        self.emulated = emulated
        self._made = manager.backend(state.description)
        self._place = manager.place_of(state)
        self._nodes = {node: _entry(node.entry) for node in state.nodes}
        self._entry: journal.Entry | None = _entry(state.entry)
        own = {node.name: self._accounting(entry) for node, entry in self._nodes.items()}
        self.accounting = Accounting(members=own, entering=self._entering)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a command on the front end, as the user in the shared home."""
        self._alive()
        mark = uuid.uuid4().hex
        front = next(iter(self._nodes))
        inside = configuration.user_command(command, root=False)
        variables = {**(environment or {}), undo.MARK: mark}
        line = self._made.enter(self._place, front, inside, variables)
        done = attach.run_marked(line, command, mark=mark, timeout_s=timeout_s, check=False)
        not_run = re.compile(rf"^sh: \d+: exec: {re.escape(command[0])}: (.+)$", re.MULTILINE)
        if done.exit_code in (126, 127) and (found := not_run.search(done.stderr)):
            raise MissingError(
                f"the program `{command[0]}` cannot be run on the cluster: {found[1]}",
                remedy=f"put it below {_SHARED} or into {configuration.PROGRAMS} first",
            )
        if check and done.exit_code != 0:
            raise ProgramError(f"`{' '.join(command)}` {explain_exit(done)}")
        return done

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into a folder that all nodes share, or replace a list of SSH keys."""
        self._alive()
        if destination in (AUTHORIZED, KNOWN):
            config = self._place.folder / "config"
            rooted.put(config, source, PurePosixPath("/") / destination.name)
        else:
            rooted.put(self._place.folder / "home", source, _shared(destination))

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file from a folder that all nodes share to the host."""
        self._alive()
        rooted.get(self._place.folder / "home", _shared(source), destination)

    def pause(self) -> None:
        """Suspend all nodes."""
        self._each(paused=True)

    def resume(self) -> None:
        """Resume all nodes."""
        self._each(paused=False)

    def release(self) -> float:
        """Remove the cluster with everything on it; returns the seconds that this took."""
        clock = time.perf_counter()
        entry, self._entry = self._entry, None
        if entry is not None:
            manager.undo_cluster(entry)
        return time.perf_counter() - clock

    def _entering(self, command: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Command lines that run `command` in each guest; {} for containers."""
        if not self._made.own_kernel:
            return {}
        return {node.name: self._made.enter(self._place, node, command, {}) for node in self._nodes}

    def _each(self, *, paused: bool) -> None:
        self._alive()
        for entry in self._nodes.values():
            self._made.pause(entry, paused=paused)

    def _alive(self) -> None:
        dead = [
            node.name
            for node, entry in self._nodes.items()
            if self._entry is None or self._made.process(entry) is None
        ]
        if dead:
            said = f"{', '.join(dead)} of environment `{self.spec.name}` does not run"
            raise ProgramError(said)

    def _accounting(self, entry: journal.Entry) -> Accounting:
        if not self._made.own_kernel:
            return container.accounting(container.name_of(entry))
        pid = self._made.process(entry)
        return Accounting(processes=() if pid is None else (pid,), own_kernel=True)


def _entry(identity: str) -> journal.Entry:
    found = journal.read(identity)
    if found is None:
        raise MissingError(f"the journal has lost its entry {identity}", remedy="run it again")
    return found


def _shared(path: PurePosixPath) -> PurePosixPath:
    """Path, relative to the shared /home, of a node's file. Errors: ProgramError if not shared."""
    if path.parent == configuration.PROGRAMS:
        return PurePosixPath("/") / configuration.PROGRAMS.name / path.name
    if path.is_relative_to(_SHARED):
        return PurePosixPath("/") / path.relative_to(_SHARED)
    raise ProgramError(
        f"{path} is in no folder that the nodes of a cluster share",
        remedy=f"put it below {_SHARED} or into {configuration.PROGRAMS}",
    )


CLUSTER = Kind(
    name=KIND,
    spec=ClusterSpec,
    make=lambda context: Cluster(context.progress),
    clean={manager.KIND: manager.undo_cluster, workshop.KIND: workshop.give_back},
    least_memory_bytes=2**26,
    mpi=configuration.MPI,
    settled=settled,
    spreads=True,
)
