"""Instances that a tool starts by one command line, on a private layer above the userland.

Each such kind of environment is a `Tool`: a command line that ends in `aferir-inside`, the program
that then runs commands inside. The common part is here: the layer, control groups, phases, pausing,
and removal without remains.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir import installed
from aferir.environments import groups, layer, limited, needs, rootless
from aferir.environments.base import Kind, Phases
from aferir.environments.features import LIMITS, OVERLAY, Feature
from aferir.environments.inside import PROGRAM, Inside
from aferir.environments.limited import DiskSpec, LayeredSpec
from aferir.environments.tool import INSIDE, Place, Tool
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import own_tree, userland
from aferir.image.progress import Progress, silent
from aferir.linux import (
    affinity,
    cgroup,
    journal,
    limited_disk,
    overlay,
    pages,
    process,
    undo,
    wait,
)
from aferir.linux.journal import Entry
from aferir.linux.process import Completed
from aferir.machine import privileges
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

_CONTROLLERS = ("cpu", "memory")
_START_LIMIT_S = 60.0
_END_S = 10.0
"""Time limit in s for an instance to end after the input of its first program was closed."""


class Sandbox:
    """Environment of a tool; mounting layers requires root, or a user namespace."""

    def __init__(self, tool: Tool, progress: Progress = silent) -> None:
        self.kind = tool.kind
        self._tool = tool
        self._progress = progress
        self._ready: set[EnvironmentSpec] = set()

    def check(self) -> list[Finding]:
        """Check root, the tool, control groups, and an image or the means to build one."""
        ok = Finding(self.kind, "ok", _version(self._tool))
        return self._lacking() or [ok, *self._tool.check()]

    def _lacking(self) -> list[Finding]:
        """Findings about what is missing, without starting a program."""
        purpose = "mount the layer that an instance writes to"
        if found := needs.lacking(
            self.kind, purpose, self._tool.programs, _CONTROLLERS, rootless=self._tool.rootless
        ):
            return found
        try:
            installed.program(PROGRAM)
        except MissingError as error:
            return [Finding(self.kind, "missing", error.message, error.remedy)]
        return []

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image; returns its content hash."""
        return userland.ensure(self._progress, packages).metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> SandboxInstance:
        """Make and start an instance; call it from the main thread, see `process.start`.

        Errors: MissingError if `check` has a finding, ProgramError if the tool fails.
        """
        clock = time.perf_counter()
        if not privileges.is_root():
            rootless.refuse(spec)
        if spec not in self._ready:  # asking an engine takes as long as making an instance
            self._tool.ready(spec)
            self._ready.add(spec)
        for finding in self._lacking():
            raise MissingError(finding.message, remedy=finding.remedy)
        with limited.own_disk(spec) as disk:
            return self._allocate(spec, clock, disk)

    def _allocate(
        self, spec: EnvironmentSpec, clock: float, disk: limited_disk.Disk | None
    ) -> SandboxInstance:
        """Make the instance that was requested at `clock`, with its own `disk` if there is one."""
        tool = self._tool
        is_root = privileges.is_root()
        tree = self._tree(spec, is_root=is_root) if tool.layered(spec) else None
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        program = installed.program(PROGRAM)
        folder = str(journal.state_folder() / tool.kind)
        entry = journal.write(tool.kind, {"instances": folder, **tool.details(spec)})
        child: subprocess.Popen[str] | None = None
        try:
            place = Place(
                entry=entry,
                spec=spec,
                root=layer.root_of(entry),
                cpus=cpus,
                program=program,
                tree=None if is_root else tree,
                disk=None if disk is None else disk.folder,
            )
            volume = spec.volume if isinstance(spec, LayeredSpec) and not tool.engine else ""
            layer.make(
                place,
                tree if is_root else None,
                host_folders=tool.host_folders,
                binds=tool.binds,
                volume=volume,
            )
            folders = groups.make(entry, spec, cpus) if is_root else {}
            copied = time.perf_counter()
            child = _start(place, tool, folders)
            inside = _greeted(tool, entry, child)
            booted = time.perf_counter()
            instance = SandboxInstance(
                spec, tool=tool, entry=entry, child=child, inside=inside, folders=folders, disk=disk
            )
            if spec.overlay is not None:
                overlay.join(spec.overlay, instance.accounting.processes[0])
            instance.run(["/bin/true"], timeout_s=_START_LIMIT_S)
            ready = time.perf_counter()
        except BaseException:
            give_back(entry, tool, child)
            raise
        instance.phases = Phases.between(clock, copied, booted, ready)
        return instance

    def _tree(self, spec: EnvironmentSpec, *, is_root: bool) -> Path:
        """Userland below the instance's layer; for an ordinary user, one that the user owns."""
        if is_root:
            return userland.ensure(self._progress, spec.packages).tree
        return own_tree.ensure(self._progress, spec.packages)


class SandboxInstance:
    """A running instance of a sandbox."""

    emulated = False
    phases: Phases

    def __init__(
        self,
        spec: EnvironmentSpec,
        *,
        tool: Tool,
        entry: Entry,
        child: subprocess.Popen[str],
        inside: Inside,
        folders: Mapping[str, Path],
        disk: limited_disk.Disk | None = None,
    ) -> None:
        """`disk` appears at `DISK` inside, and is released with the instance."""
        self.spec = spec
        self.phases = Phases(total_s=0.0)
        self.accounting = groups.accounting(
            folders, INSIDE.name, made_below=tool.group, own_kernel=tool.own_kernel(spec)
        )
        self._tool = tool
        self._entry: Entry | None = entry
        self._child = child
        self._inside = inside
        self._folders = dict(folders)
        self._disk = disk
        if disk is not None:
            disk.hold(self.accounting.cgroups)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program inside; its duration is measured inside."""
        self._alive()
        with limited.files(environment or {}, self._disk) as own:
            return self._inside.run(command, timeout_s=timeout_s, environment=own, check=check)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the instance, preserving its mode."""
        self._alive()
        self._inside.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the instance to the host."""
        self._alive()
        self._inside.get(source, destination)

    def pause(self) -> None:
        """Freeze all processes of the instance."""
        self._alive()
        groups.freeze(self._folders, frozen=True)

    def resume(self) -> None:
        """Thaw all processes of the instance."""
        self._alive()
        groups.freeze(self._folders, frozen=False)

    def release(self) -> float:
        """End all processes inside and remove everything; returns the duration in s."""
        clock = time.perf_counter()
        entry, self._entry = self._entry, None
        if entry is not None:
            give_back(entry, self._tool, self._child)
        if entry is not None and self._disk is not None:
            limited_disk.give_back(self._disk.entry)
        return time.perf_counter() - clock

    def _alive(self) -> None:
        if self._entry is None or self._child.poll() is not None:
            raise ProgramError(f"the instance of environment `{self.spec.name}` does not run")


def give_back(entry: Entry, tool: Tool, child: subprocess.Popen[str] | None = None) -> None:
    """Remove an instance in any state, and its journal entry.

    It also cleans up after a dead owner. Errors: OSError if a process, a group, a mount or a
    folder is left; then the entry is left too.
    """
    name, have = groups.name_of(entry), cgroup.layout()
    for folder in cgroup.find(name, have):
        cgroup.let_die(folder)
    if child is not None:
        orderly = _ended(child)
        process.end(child, grace_s=0.2)
    else:
        orderly = False
        wait.until(
            lambda: not (undo.any_under_way() or undo.processes(lambda words, _: name in words)),
            wait.after(_END_S),
        )
    if not orderly:
        undo.kill_marked(entry.id)
    cgroup.remove(name, have)
    if not orderly:
        tool.forget(entry, name)
        cgroup.remove(name, have)  # a tool that still ran for it may have made another group
    undo.remove_tree(layer.folder_of(entry))
    journal.erase(entry)


def kind(
    tool: Tool,
    spec: type[DiskSpec] = LayeredSpec,
    features: tuple[Feature, ...] = (),
    *,
    spreads: bool = False,
) -> Kind:
    """Declare the kind of environment that a tool makes, with `features` beyond the common ones.

    With `spreads` its instances have a network of their own, to which those of other hosts may be
    joined.
    """
    return Kind(
        name=tool.kind,
        spec=spec,
        make=lambda context: Sandbox(tool, context.progress),
        clean={tool.kind: lambda entry: give_back(entry, tool)},
        has_image=True,
        spreads=spreads,
        features=(*features, OVERLAY, *LIMITS),
    )


def _start(place: Place, tool: Tool, folders: Mapping[str, Path]) -> subprocess.Popen[str]:
    """Start the tool, which is killed when we die, unless it is an engine."""
    entered = () if tool.engine else tuple(folders.values())
    command = tool.command(place)
    if place.tree is not None and not tool.engine:
        command = rootless.within(place, command, host_folders=tool.host_folders)
    with layer.said_by(place.entry).open("w", encoding="utf-8") as said:
        return process.start(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said.fileno(),
            environment={undo.MARK: place.entry.id},
            directory=layer.folder_of(place.entry),  # conmon writes a file `oom` to where it is
            cpus=place.cpus,
            cgroups=entered,
            controls=pages.controls(place.spec),
            survives_us=tool.engine,
        )


def _greeted(tool: Tool, entry: Entry, child: subprocess.Popen[str]) -> Inside:
    """Return the connection to the instance's first program once that answers.

    Errors: ProgramError with the tool's log.
    """
    assert child.stdout is not None
    assert child.stdin is not None
    inside = Inside(child.stdout.fileno(), child.stdin.fileno())
    try:
        inside.greet(_START_LIMIT_S)
    except ProgramError as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1.0)  # so that it has said all it has to say
        lines = layer.said_by(entry).read_text(encoding="utf-8", errors="replace").splitlines()
        said = " / ".join(line.strip() for line in lines if line.strip())[-600:]
        raise ProgramError(
            f"the instance did not start by {tool.kind}: {said or error.message}",
            remedy="`aferir doctor` tells what this machine lacks for it",
        ) from None
    return inside


def _ended(child: subprocess.Popen[str]) -> bool:
    """Close the first program's input; returns True if the instance then ends with exit code 0."""
    if child.poll() is None and child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
        handle = os.pidfd_open(child.pid)
        try:
            select.select([handle], [], [], _END_S)
        finally:
            os.close(handle)
    return child.poll() == 0


def _version(tool: Tool) -> str:
    try:
        done = process.run(tool.version, timeout_s=60, check=False)
    except AferirError:
        return tool.kind
    lines = (done.stdout or done.stderr).splitlines() or [tool.kind]
    said = lines[0].strip()
    return f"{tool.kind} {said}" if said[:1].isdigit() else said
