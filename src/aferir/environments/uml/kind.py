"""The kind `uml`: guests whose Linux is a program in user space, with one processor.

It is neither emulated nor uses KVM: a program computes at the host's speed, and a system call costs
two context switches, since the kernel traces the program.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from aferir.environments import groups
from aferir.environments.base import Accounting, Kind, Phases
from aferir.environments.features import COLD_CACHE, MERGED_PAGES, QUOTA, SMALL_PAGES
from aferir.environments.uml import guest, machine
from aferir.errors import MissingError
from aferir.image import userland
from aferir.image.progress import Progress, silent
from aferir.image.userland import Image
from aferir.linux import affinity, cgroup, journal, namespace, overlay, pages
from aferir.linux.journal import Entry
from aferir.linux.process import Completed
from aferir.machine import needed, privileges
from aferir.model.finding import Finding
from aferir.model.overlay import PREFIX
from aferir.model.plan import (
    CpuQuota,
    EnvironmentKind,
    EnvironmentSpec,
    HugePages,
    MergePages,
    PageCache,
    Tenants,
)

KEPT_BYTES = 32 * 2**20
"""Approximate memory in bytes that a guest's kernel and userland occupy."""
GROUP = "uml-group"
"""Kind of journal entry of a guest's control groups."""
_JOIN_S = 60.0
_JOIN = f"""set -e
hostname "$0"
ip link set vec0 name {overlay.INTERFACE} address "$1" mtu "$2"
ip address add "$3" dev {overlay.INTERFACE}
ip link set {overlay.INTERFACE} up
"""
"""Script that sets a guest's host name, and address, MTU and network of its interface to other
hosts.
"""
_SAYS = "a Linux kernel in user space: real figures, neither emulated nor by KVM"


class UmlSpec(EnvironmentSpec, frozen=True, kw_only=True):
    """Specification of a guest under User-Mode Linux."""

    kind: EnvironmentKind = guest.KIND
    cpu_quota: CpuQuota = None
    huge_pages: HugePages = True
    merge_pages: MergePages = False
    page_cache: PageCache = "warm"
    tenants: Tenants = 1

    def user_kernel(self) -> str:
        """Description of the guest's kernel; it computes fast, but its system calls are slow."""
        return "a Linux kernel in user space (User-Mode Linux)"

    def kept_bytes(self) -> int:
        """Memory in bytes that the guest's own kernel and userland occupy."""
        return KEPT_BYTES


class Uml:
    """Makes guests under User-Mode Linux; does not require root, except for a quota."""

    kind = guest.KIND

    def __init__(self, progress: Progress = silent) -> None:
        self._progress = progress

    def check(self) -> list[Finding]:
        """Check the kernel, and an image or the means to build one."""
        try:
            kernel = machine.find()
        except MissingError as error:
            return [Finding(self.kind, "missing", error.message, error.remedy)]
        if found := userland.check():
            return [Finding(self.kind, f.status, f.message, f.remedy) for f in found]
        return [Finding(self.kind, "ok", f"User-Mode Linux {kernel.release}, {_SAYS}")]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Build or find the image; returns its content hash."""
        return userland.ensure(self._progress, packages).metadata.hash

    def allocate(self, spec: EnvironmentSpec) -> UmlInstance:
        """Boot a guest; call it from the main thread, see `aferir.linux.process.start`.

        Errors: MissingError if `check` has a finding, or for a quota without root; ProgramError if
        it does not boot.
        """
        clock = time.perf_counter()
        needed.require(self.check())
        base = userland.ensure(self._progress, spec.packages)
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        entry, folders = _groups(spec, cpus)
        link: Entry | None = None
        try:
            placing = guest.Placing(
                cpus=cpus, cgroups=tuple(folders.values()), controls=pages.controls(spec)
            )
            if spec.overlay is not None:
                link = overlay.for_guest(spec.overlay)
            made = _booted(spec, base, placing, link)
        except BaseException:
            give_back(entry)
            if link is not None:
                namespace.give_back(link)
            raise
        instance = UmlInstance(spec, made, entry, folders, link)
        total_s = time.perf_counter() - clock
        copied_s = (made.phases.copied_s or 0.0) + total_s - made.phases.total_s
        instance.phases = msgspec.structs.replace(made.phases, copied_s=copied_s, total_s=total_s)
        return instance


def _booted(
    spec: EnvironmentSpec, base: Image, placing: guest.Placing, link: Entry | None
) -> guest.Guest:
    """Boot the guest, with the interface to other hosts, if any. Errors: as `guest.boot`."""
    if spec.overlay is None or link is None:
        return guest.boot(base, guest.Wanted(memory_bytes=spec.memory_bytes), placing)
    with overlay.frames(link) as wire:
        wanted = guest.Wanted(memory_bytes=spec.memory_bytes, wires=(wire.fileno(),))
        made = guest.boot(base, wanted, placing)
    try:
        own = spec.overlay
        words = (
            own.name,
            own.mac,
            str(overlay.mtu(overlay.name_of(link))),
            f"{own.address}/{PREFIX}",
        )
        made.run(["sh", "-c", _JOIN, *words], timeout_s=_JOIN_S)
    except BaseException:
        made.release()
        raise
    return made


class UmlInstance:
    """A running guest within its control groups."""

    emulated = False

    def __init__(
        self,
        spec: EnvironmentSpec,
        made: guest.Guest,
        entry: Entry,
        folders: Mapping[str, Path],
        link: Entry | None = None,
    ) -> None:
        """`link` is the namespace of its interface to other hosts, removed with the guest."""
        self.spec = spec
        self._link = link
        self.phases: Phases = made.phases
        self.accounting = Accounting(cgroups=dict(folders), processes=(made.pid,), own_kernel=True)
        self._guest = made
        self._folders = dict(folders)
        self._entry: Entry | None = entry

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program in the guest; its duration is measured on the host, to within 20 ms."""
        return self._guest.run(command, timeout_s=timeout_s, environment=environment, check=check)

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one host file into the guest, preserving its mode."""
        self._guest.put(source, destination)

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file of the guest to the host."""
        self._guest.get(source, destination)

    def pause(self) -> None:
        """Freeze the guest's processes if we are root, else stop its kernel.

        A stopped kernel occasionally misses the request to continue: the interrupt handler of its
        control socket consumes that request (mconsole_stop() of the kernel's mconsole_kern.c).
        """
        if self._folders:
            groups.freeze(self._folders, frozen=True)
        else:
            self._guest.pause()

    def resume(self) -> None:
        """Thaw the guest's processes, or let its kernel continue."""
        if self._folders:
            groups.freeze(self._folders, frozen=False)
        else:
            self._guest.resume()

    def release(self) -> float:
        """Power it off and remove everything; returns the duration in s."""
        clock = time.perf_counter()
        entry, self._entry = self._entry, None
        if entry is not None:
            for folder in self._folders.values():
                cgroup.let_die(folder)
            self._guest.release()
            give_back(entry)
            if self._link is not None:
                namespace.give_back(self._link)
        return time.perf_counter() - clock


def give_back(entry: Entry) -> None:
    """Remove a guest's control groups and the journal entry. Errors: OSError if one is left."""
    if privileges.is_root():
        cgroup.remove(groups.name_of(entry), cgroup.layout())
    journal.erase(entry)


def _groups(spec: EnvironmentSpec, cpus: Sequence[int]) -> tuple[Entry, dict[str, Path]]:
    """Control groups that account for a guest, limit its CPUs and freeze it; none without root.

    Its memory is limited by its kernel. Errors: MissingError for a quota without root.
    """
    entry = journal.write(GROUP, {})
    try:
        if privileges.is_root():
            return entry, groups.make(entry, spec, cpus, memory=False)
        limits = cgroup.Limits(cpus=affinity.cpu_limit(spec))
        return entry, cgroup.make(groups.name_of(entry), limits, cgroup.layout())
    except BaseException:
        give_back(entry)
        raise


UML = Kind(
    name=guest.KIND,
    spec=UmlSpec,
    make=lambda context: Uml(context.progress),
    clean={GROUP: give_back, guest.KIND: guest.give_back},
    least_memory_bytes=2**26,
    most_cpus=1,
    has_image=True,
    spreads=True,
    features=(QUOTA, SMALL_PAGES, MERGED_PAGES, COLD_CACHE),
)
