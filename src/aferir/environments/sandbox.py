"""Instances that a tool starts by one command line, on a private layer above the userland.

Each such kind of environment is a `Tool`: a command line that ends before `aferir-inside`, the
program that then runs whatever is wanted in there. What is the same for all of them is here: the
layer, control groups, phases, pausing, and that nothing is left.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir import installed
from aferir.environments import groups, limited
from aferir.environments.base import Accounting, Kind, Phases
from aferir.environments.inside import PROGRAM, Inside
from aferir.environments.limited import DISK, DiskSpec
from aferir.environments.tool import INSIDE, Place, Tool
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import userland
from aferir.linux import affinity, cgroup, journal, limited_disk, mounts, pages, process, undo, wait
from aferir.linux.journal import Entry
from aferir.linux.process import Completed
from aferir.machine import packages, privileges
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

_CONTROLLERS = ("cpu", "memory")
_START_LIMIT_S = 60.0
_END_S = 10.0
"""How long an instance may take to end once nobody talks to its first program any more."""


class Sandbox:
    """The environment of a tool; only root may mount layers."""

    def __init__(self, tool: Tool, progress: userland.Progress = userland.silent) -> None:
        self.kind = tool.kind
        self._tool = tool
        self._progress = progress
        self._ready: set[EnvironmentSpec] = set()

    def check(self) -> list[Finding]:
        """Root, the tool, control groups, an image or the means to build one."""
        ok = Finding(self.kind, "ok", _version(self._tool))
        return self._lacking() or [ok, *self._tool.check()]

    def _lacking(self) -> list[Finding]:
        """What is missing, without starting a program."""
        if not privileges.is_root():
            said = "only root may mount the layer that an instance writes to"
            return [Finding(self.kind, "missing", said, privileges.as_root_command())]
        if absent := packages.missing(self._tool.programs):
            said = f"not installed: {', '.join(absent)}"
            return [Finding(self.kind, "missing", said, packages.install_command(absent))]
        have = cgroup.layout()
        if absent := [name for name in _CONTROLLERS if not have.has(name)]:
            said = f"no control groups with the controllers {', '.join(absent)}"
            return [Finding(self.kind, "missing", said, "mount -t cgroup2 none /sys/fs/cgroup")]
        try:
            installed.program(PROGRAM)
        except MissingError as error:
            return [Finding(self.kind, "missing", error.message, error.remedy)]
        return [Finding(self.kind, f.status, f.message, f.remedy) for f in userland.check()]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image; its content hash."""
        return userland.ensure(self._progress, packages).metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> SandboxInstance:
        """Make and start one; from the main thread, see `aferir.process.start`.

        Errors: MissingError where `check` says so, ProgramError where the tool fails.
        """
        clock = time.perf_counter()
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
        """Make one that was asked for at `clock`, perhaps with a `disk` of its own."""
        tool = self._tool
        tree = userland.ensure(self._progress, spec.packages).tree if tool.layered(spec) else None
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        program = installed.program(PROGRAM)
        folder = str(journal.state_folder() / tool.kind)
        entry = journal.write(tool.kind, {"instances": folder, **tool.details(spec)})
        child: subprocess.Popen[str] | None = None
        try:
            place = Place(
                entry=entry,
                spec=spec,
                root=_root(entry),
                cpus=cpus,
                program=program,
                disk=None if disk is None else disk.folder,
            )
            _make_root(place, tool, tree)
            folders = groups.make(entry, spec, cpus)
            copied = time.perf_counter()
            child = _start(place, tool, folders)
            inside = _greeted(tool, entry, child)
            booted = time.perf_counter()
            instance = SandboxInstance(
                spec, tool=tool, entry=entry, child=child, inside=inside, folders=folders, disk=disk
            )
            instance.run(["/bin/true"], timeout_s=_START_LIMIT_S)
            ready = time.perf_counter()
        except BaseException:
            give_back(entry, tool, child)
            raise
        instance.phases = Phases(
            copied_s=copied - clock,
            booted_s=booted - copied,
            ready_s=ready - booted,
            total_s=ready - clock,
        )
        return instance


class SandboxInstance:
    """A running instance."""

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
        """`disk` is seen at `DISK` in it, and given back with it."""
        self.spec = spec
        self.phases = Phases(total_s=0.0)
        self.accounting = _accounting(folders, tool, own_kernel=tool.own_kernel(spec))
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
        """Run a program inside; its duration is the one in there."""
        self._alive()
        with limited.files(environment or {}, self._disk) as own:
            return self._inside.run(command, timeout_s=timeout_s, environment=own, check=check)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into it, keeping its mode."""
        self._alive()
        self._inside.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of it to the host."""
        self._alive()
        self._inside.get(source, destination)

    def pause(self) -> None:
        """Freeze all its processes."""
        self._alive()
        groups.freeze(self._folders, frozen=True)

    def resume(self) -> None:
        """Thaw them."""
        self._alive()
        groups.freeze(self._folders, frozen=False)

    def release(self) -> float:
        """End what runs inside and remove everything; seconds that it took."""
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
    """Remove an instance, however much of it there is, and its entry in the journal.

    Also what cleaning does when the one who made it is dead. Errors: OSError where a process, a
    group, a mount or a folder stays; the entry stays too then.
    """
    name, have = groups.name_of(entry), cgroup.layout()
    for folder in cgroup.find(name, have):
        cgroup.let_die(folder)
    if child is not None:
        orderly = _ended(child)
        process.end(child, grace_s=0.2)
    else:
        orderly = False
        wait.until(lambda: not undo.processes(lambda words, _: name in words), wait.after(_END_S))
    if not orderly:
        undo.kill_marked(entry.id)
    cgroup.remove(name, have)
    if not orderly:
        tool.forget(entry, name)
        cgroup.remove(name, have)  # a tool that still ran for it may have made another group
    undo.remove_tree(_folder(entry))
    journal.erase(entry)


def kind(tool: Tool, spec: type[DiskSpec] = DiskSpec) -> Kind:
    """The kind of environment that a tool makes."""
    return Kind(
        name=tool.kind,
        spec=spec,
        make=lambda context: Sandbox(tool, context.progress),
        clean={tool.kind: lambda entry: give_back(entry, tool)},
        has_image=True,
    )


def _folder(entry: Entry) -> Path:
    return Path(entry.details["instances"]) / groups.name_of(entry)


def _root(entry: Entry) -> Path:
    return _folder(entry) / "root"


def _make_root(place: Place, tool: Tool, tree: Path | None) -> None:
    """The folder of an instance, and where it has a `tree` its private layer above that."""
    folder = _folder(place.entry)
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o700)
    place.root.chmod(0o755)
    if tree is None:
        return
    shutil.copy(place.program, folder / "upper" / INSIDE.name)
    try:
        mounts.overlay(tree, folder / "upper", folder / "work", place.root)
        if tool.host_folders:
            mounts.fresh("proc", place.root / "proc")
            for name in ("dev", "sys"):
                mounts.bind(Path("/", name), place.root / name)
        if place.disk is not None:
            at = place.root / DISK.relative_to("/")
            at.mkdir(parents=True)
            mounts.bind(place.disk, at)
    except OSError as error:
        raise MissingError(
            f"the files of environment `{place.spec.name}` cannot be mounted: {error}",
            remedy="an overlay takes a kernel with CONFIG_OVERLAY_FS, and a state folder "
            "(AFERIR_STATE) that is not on an overlay itself",
        ) from None


def _start(place: Place, tool: Tool, folders: Mapping[str, Path]) -> subprocess.Popen[str]:
    """Start the tool; it is killed with us, but for an engine."""
    entered = () if tool.engine else tuple(folders.values())
    with _said(place.entry).open("w", encoding="utf-8") as said:
        return process.start(
            tool.command(place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said.fileno(),
            environment={undo.MARK: place.entry.id},
            directory=_folder(place.entry),  # conmon writes a file `oom` to where it is
            cpus=place.cpus,
            cgroups=entered,
            controls=pages.controls(place.spec),
            survives_us=tool.engine,
        )


def _greeted(tool: Tool, entry: Entry, child: subprocess.Popen[str]) -> Inside:
    """Its first program, as soon as it speaks. Errors: ProgramError with what the tool said."""
    assert child.stdout is not None
    assert child.stdin is not None
    inside = Inside(child.stdout.fileno(), child.stdin.fileno())
    try:
        inside.greet(_START_LIMIT_S)
    except ProgramError as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1.0)  # so that it has said all it has to say
        lines = _said(entry).read_text(encoding="utf-8", errors="replace").splitlines()
        said = " / ".join(line.strip() for line in lines if line.strip())[-600:]
        raise ProgramError(
            f"the instance did not start by {tool.kind}: {said or error.message}",
            remedy="`aferir doctor` tells what this machine lacks for it",
        ) from None
    return inside


def _said(entry: Entry) -> Path:
    """What the tool says."""
    return _folder(entry) / "said"


def _ended(child: subprocess.Popen[str]) -> bool:
    """Whether it ends in good order, now that nobody talks to its first program any more."""
    if child.poll() is None and child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
        handle = os.pidfd_open(child.pid)
        try:
            select.select([handle], [], [], _END_S)
        finally:
            os.close(handle)
    return child.poll() == 0


def _accounting(folders: Mapping[str, Path], tool: Tool, *, own_kernel: bool) -> Accounting:
    """Its groups that have members, and its first program by the host's number.

    With `own_kernel` all processes that run it. The accounts of `blkio` leave out the groups below
    (blkio-controller.rst), so that one is the group that an engine has made there.
    """
    made = {name: _made(path, tool) for name, path in folders.items()}
    members = {name: cgroup.members(path) for name, path in made.items()}
    cgroups = {
        name: made[name] if name == "blkio" else path
        for name, path in folders.items()
        if members[name] and name not in ("freezer", "cpuset")
    }
    pids = sorted(set[int]().union(*members.values()))
    first = [pid for pid in pids if own_kernel or _name(pid) == INSIDE.name]
    return Accounting(cgroups=cgroups, processes=tuple(first), own_kernel=own_kernel)


def _made(group: Path, tool: Tool) -> Path:
    """The group below that the tool has made for the instance, where it has."""
    found = sorted(group.glob(tool.group)) if tool.group else []
    return found[0] if found else group


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _version(tool: Tool) -> str:
    try:
        done = process.run(tool.version, timeout_s=20, check=False)
    except AferirError:
        return tool.kind
    lines = (done.stdout or done.stderr).splitlines() or [tool.kind]
    said = lines[0].strip()
    return f"{tool.kind} {said}" if said[:1].isdigit() else said
