"""LXC containers on a read-only tree with a private layer above it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir.environments import groups, layer, limited, needs, rooted
from aferir.environments.base import Accounting, Kind, Phases
from aferir.environments.limited import DISK
from aferir.environments.lxc import attach, config_file
from aferir.environments.lxc.spec import FEATURES, KIND, ContainerSpec
from aferir.errors import AferirError, MissingError, ProgramError
from aferir.image import initramfs, userland
from aferir.image.progress import Progress, silent
from aferir.linux import (
    affinity,
    cgroup,
    events,
    journal,
    limited_disk,
    overlay,
    pages,
    process,
    umask,
    undo,
)
from aferir.linux.process import Completed
from aferir.machine import facts
from aferir.model.finding import Finding
from aferir.model.plan import EnvironmentSpec

_PROGRAMS = ("lxc-start", "lxc-attach", "lxc-stop")
_CONTROLLERS = ("cpu", "memory", *(("cpuset",) if (os.cpu_count() or 1) > 1 else ()))
"""Control group controllers that the limits need; `cpuset` only if there are several processors."""
_SECCOMP = Path("/usr/share/lxc/config/common.seccomp")
_START_LIMIT_S = 60.0


def name_of(entry: journal.Entry) -> str:
    """Name of the container and of its control groups, from its journal entry."""
    return f"aferir-{entry.id}"


def folder_of(entry: journal.Entry) -> Path:
    """Folder of the container's configuration and of its private layer."""
    return Path(entry.details["containers"]) / name_of(entry)


class Container:
    """Makes containers by LXC; requires root."""

    kind = KIND

    def __init__(self, progress: Progress = silent, tree: Path | None = None) -> None:
        """Store `tree`, the folder that containers have as root; None: the image."""
        self._progress = progress
        self._tree = tree

    def check(self) -> list[Finding]:
        """Check root, LXC, control groups, and an image or the means to build one."""
        return self._lacking() or [Finding(KIND, "ok", f"LXC {facts.tool_version('lxc')}")]

    def _lacking(self) -> list[Finding]:
        """Findings about what is missing, without starting a program."""
        return needs.lacking(KIND, "make containers with limits", _PROGRAMS, _CONTROLLERS)

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image; returns its content hash."""
        return userland.ensure(self._progress, packages).metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> ContainerInstance:
        """Make and start a container; call it from the main thread, see `process.start`.

        Errors: MissingError if `check` has a finding, ProgramError if LXC fails.
        """
        clock = time.perf_counter()
        for finding in self._lacking():
            raise MissingError(finding.message, remedy=finding.remedy)
        with limited.own_disk(spec) as disk:
            return self._allocate(spec, clock, disk)

    def _allocate(
        self, spec: EnvironmentSpec, clock: float, disk: limited_disk.Disk | None
    ) -> ContainerInstance:
        """Make the container that was requested at `clock`, with its own `disk` if there is one."""
        tree = self._tree or userland.ensure(self._progress, spec.packages).tree
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        entry = journal.write(KIND, {"containers": str(journal.state_folder() / "containers")})
        monitor: subprocess.Popen[str] | None = None
        try:
            _write_config(spec, entry, tree, cpus, disk)
            copied = time.perf_counter()
            monitor = _start(entry)
            booted = time.perf_counter()
            instance = ContainerInstance(spec, entry, monitor, disk)
            if spec.overlay is not None:
                overlay.join(spec.overlay, instance.accounting.processes[0])
            instance.run(["/bin/true"], timeout_s=_START_LIMIT_S)
            ready = time.perf_counter()
        except BaseException:
            give_back(entry, monitor)
            raise
        instance.phases = Phases.between(clock, copied, booted, ready)
        return instance


def _write_config(
    spec: EnvironmentSpec,
    entry: journal.Entry,
    tree: Path,
    cpus: Sequence[int],
    disk: limited_disk.Disk | None,
) -> None:
    folder = folder_of(entry)
    umask.everybody_reads()
    # In the upper layer: overlayfs would otherwise copy the folder up at the first write to it.
    (folder / "upper" / initramfs.CONTAINER_MARK).parent.mkdir(parents=True)
    folder.chmod(0o700)
    binds = [] if disk is None else [config_file.bound(disk.folder, DISK)]
    network, filtered = "none", True
    if isinstance(spec, ContainerSpec):
        network, filtered = spec.network, spec.seccomp == "default"
        binds += _volume(spec, folder)
    text = config_file.config(
        spec,
        name=name_of(entry),
        tree=tree,
        upper=folder / "upper",
        cpus=cpus,
        have=cgroup.layout(),
        seccomp=seccomp() if filtered else None,
        host_name="aferir" if spec.overlay is None else spec.overlay.name,
        own_network=network != "host",
        mounts=binds,
    )
    (folder / "config").write_text(text, encoding="utf-8")


def _volume(spec: ContainerSpec, folder: Path) -> list[str]:
    """Make the folder of the container's volume; returns the configuration line that mounts it."""
    if not spec.volume:
        return []
    return [config_file.bound(layer.own_folder(folder), PurePosixPath(spec.volume))]


def seccomp() -> Path | None:
    """Path of LXC's own seccomp profile, if it is installed."""
    return _SECCOMP if _SECCOMP.exists() else None


def _start(entry: journal.Entry) -> subprocess.Popen[str]:
    """Start the monitor and wait until the container's first program has run.

    Errors: ProgramError with LXC's log if it does not start.
    """
    folder = folder_of(entry)
    log = folder / "log"
    monitor = process.start(
        config_file.start_command(folder.parent, name_of(entry), log),
        environment={undo.MARK: entry.id},
    )
    mark = folder / "upper" / initramfs.CONTAINER_MARK
    if not events.until(mark.exists, _START_LIMIT_S, folder=mark.parent, pid=monitor.pid):
        process.end(monitor)
        said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        raise ProgramError(
            f"the container did not start: {config_file.reason(said) or 'LXC gave no reason'}",
            remedy="lxc-checkconfig(1) tells what the kernel lacks",
        )
    return monitor


class ContainerInstance:
    """A running container of LXC."""

    emulated = False
    phases: Phases

    def __init__(
        self,
        spec: EnvironmentSpec,
        entry: journal.Entry,
        monitor: subprocess.Popen[str],
        disk: limited_disk.Disk | None = None,
    ) -> None:
        """`disk` is bound at `DISK` inside, and released with the container."""
        self.spec = spec
        self._disk = disk
        self.phases = Phases(total_s=0.0)
        self.accounting = accounting(name_of(entry))
        self._entry: journal.Entry | None = entry
        self._monitor = monitor
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
        """Run a program inside; `lxc-attach` reports signal N as 128 + N, as a shell does."""
        entry = self._alive()
        mark = uuid.uuid4().hex
        with limited.files(environment or {}, self._disk) as own:
            variables = {"HOME": "/root", "LANG": "C.UTF-8", **own, undo.MARK: mark}
            return attach.run_marked(
                config_file.attach_command(
                    folder_of(entry).parent, name_of(entry), command, variables
                ),
                command,
                mark=mark,
                timeout_s=timeout_s,
                controls=pages.controls(self.spec),
                check=check,
            )

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the container's private layer, preserving its mode."""
        rooted.put(self._root(), source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the container to the host."""
        rooted.get(self._root(), source, destination)

    def pause(self) -> None:
        """Freeze all processes inside."""
        self._alive()
        groups.freeze(self.accounting.cgroups, frozen=True)

    def resume(self) -> None:
        """Thaw all processes inside."""
        self._alive()
        groups.freeze(self.accounting.cgroups, frozen=False)

    def release(self) -> float:
        """Kill all processes inside and remove everything; returns the duration in s."""
        clock = time.perf_counter()
        entry, self._entry = self._entry, None
        if entry is not None:
            give_back(entry, self._monitor)
        if entry is not None and self._disk is not None:
            limited_disk.give_back(self._disk.entry)
        return time.perf_counter() - clock

    def _alive(self) -> journal.Entry:
        if self._entry is None or self._monitor.poll() is not None:
            raise ProgramError(f"the container of environment `{self.spec.name}` does not run")
        return self._entry

    def _root(self) -> Path:
        """Root of the container as its first program sees it; the mount exists only there."""
        self._alive()
        return Path(f"/proc/{self.accounting.processes[0]}/root")


def give_back(entry: journal.Entry, monitor: subprocess.Popen[str] | None = None) -> None:
    """Remove a container in any state, and its journal entry.

    It also cleans up after a dead owner. Errors: OSError if a process, a group or a folder is
    left; then the entry is left too.
    """
    folder, name, have = folder_of(entry), name_of(entry), cgroup.layout()
    for group in cgroup.find(name, have):
        cgroup.let_die(group)  # else it would be waited for in vain
    if monitor is not None and monitor.poll() is None:
        with contextlib.suppress(AferirError):
            process.run(config_file.stop_command(folder.parent, name), timeout_s=10, check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            monitor.wait(5)
        process.end(monitor)
    undo.kill_marked(entry.id)
    cgroup.remove(name, have)
    undo.remove_tree(folder)
    journal.erase(entry)


def accounting(name: str) -> Accounting:
    """Groups of the container, and the host pid of its first program."""
    have = cgroup.layout()
    folders = {
        controller: root / name
        for controller, root in have.v1.items()
        if (root / name).is_dir() and not controller.startswith("name=")
    }
    if have.v2 is not None and (have.v2 / name).is_dir() and have.v2_controllers:
        folders["unified"] = have.v2 / name
    pids = {
        pid
        for folder in cgroup.find(name, have)
        if folder.name == name
        for pid in cgroup.members(folder)
    }
    first = [pid for pid in sorted(pids) if _is_first(pid)]
    return Accounting(cgroups=folders, processes=tuple(first))


def _is_first(pid: int) -> bool:
    """True if a process is number 1 of its own pid namespace (proc(5), NSpid)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("NSpid:"):
                return line.split()[-1] == "1"
    return False


CONTAINER = Kind(
    name=KIND,
    spec=ContainerSpec,
    make=lambda context: Container(context.progress),
    clean={KIND: give_back},
    has_image=True,
    spreads=True,
    features=FEATURES,
)
