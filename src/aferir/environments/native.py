"""Programs on the host itself; the phases of an allocation are close to zero."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from aferir.environments import limited
from aferir.environments.base import Accounting, Context, Kind, Phases
from aferir.environments.features import LIMITS
from aferir.environments.limited import DiskSpec
from aferir.errors import MissingError, ProgramError, TimeoutExpired
from aferir.linux import affinity, cgroup, journal, limited_disk, pages, process, scratch, undo
from aferir.linux.process import Completed
from aferir.machine import facts
from aferir.model.finding import Finding
from aferir.model.plan import SCRATCH, EnvironmentKind, EnvironmentSpec

_ALONE = Context()


class NativeSpec(DiskSpec, frozen=True, kw_only=True):
    """An environment that is the host itself."""

    kind: EnvironmentKind = "native"


class Native:
    """Runs programs as our children, on the CPUs that the environment selects."""

    kind = "native"

    def __init__(self, context: Context = _ALONE) -> None:
        self._context = context

    def check(self) -> list[Finding]:
        """Return no findings: the host itself is always available."""
        return [Finding("native", "ok", "programs run on the host itself")]

    def prepare(self, packages: tuple[str, ...] = ()) -> str:
        """Return an empty hash: there is no image to build or find."""
        return ""

    def allocate(self, spec: EnvironmentSpec) -> NativeInstance:
        """Make a control group, if that is permitted.

        Errors: MissingError if the CPUs or the permission to limit them are missing.
        """
        clock = time.perf_counter()
        cpus = affinity.cpu_set(spec, affinity.host_cpus())
        may_limit = cgroup.may_be_made(cgroup.layout())
        limits = limits_of(spec, facts.usable_memory_bytes(), may_limit=may_limit)
        with limited.own_disk(spec) as disk:
            entry, folders = _group(limits) if limits != cgroup.Limits() else (None, {})
            instance = NativeInstance(spec, cpus, entry, folders, 0.0, context=self._context)
            try:
                instance.use_disk(disk)
            except BaseException:
                instance.release()
                raise
            instance.phases = Phases(total_s=time.perf_counter() - clock)
            return instance


def _group(limits: cgroup.Limits) -> tuple[journal.Entry, dict[str, Path]]:
    """Make a control group with `limits`; returns its journal entry and its folders."""
    entry = journal.write("cgroup", {})
    try:
        return entry, cgroup.make(f"aferir-{entry.id}", limits, cgroup.layout())
    except BaseException:
        cgroup.remove(f"aferir-{entry.id}", cgroup.layout())
        journal.erase(entry)
        raise


def limits_of(spec: EnvironmentSpec, host_memory_bytes: int, *, may_limit: bool) -> cgroup.Limits:
    """Limits of a native environment that its control group enforces.

    Without permission for control groups, memory is not limited, but a quota is never ignored,
    since it changes the figures. With permission, a group is made even without limits: containers
    compete for CPUs as a group, so native programs should too. Errors: MissingError for a quota
    that cannot be set.
    """
    cpus = affinity.cpu_limit(spec)
    if cpus is not None and not may_limit:
        raise MissingError(
            f"environment `{spec.name}` has a `cpu_quota` on the host, which takes root, and "
            "control groups that may be written",
            remedy="run as root on the host itself: sudo aferir ..., or remove its `cpu_quota`",
        )
    memory = spec.memory_bytes if may_limit and 0 < spec.memory_bytes < host_memory_bytes else None
    return cgroup.Limits(
        cpus=cpus,
        memory_bytes=memory,
        nice=os.nice(0) if may_limit else None,
        accounted=spec.accounted and may_limit,
    )


class NativeInstance:
    """The host, with a control group if one is permitted."""

    emulated = False

    def __init__(
        self,
        spec: EnvironmentSpec,
        cpus: tuple[int, ...],
        entry: journal.Entry | None,
        folders: Mapping[str, Path],
        total_s: float,
        *,
        context: Context = _ALONE,
    ) -> None:
        self.spec = spec
        self.phases = Phases(total_s=total_s)
        self.accounting = Accounting(cgroups=dict(folders))
        self._cpus = cpus
        self._entry = entry
        self._clean = context.clean
        self._disk: limited_disk.Disk | None = None

    def use_disk(self, disk: limited_disk.Disk | None) -> None:
        """Place the files of programs on `disk`, if there is one; `release` also releases it."""
        if disk is not None:
            disk.hold(self.accounting.cgroups)
        self._disk = disk

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float | None = None,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> Completed:
        """Run a program as our child; if it is ended, everything that it started is killed too."""
        marked = {**(environment or {}), undo.MARK: uuid.uuid4().hex}
        if self._disk is not None and SCRATCH in marked:
            marked[SCRATCH] = str(self._disk.folder)
        try:
            with scratch.private(marked) as marked:
                return process.run(
                    command,
                    timeout_s=timeout_s,
                    environment=marked,
                    cpus=self._cpus,
                    cgroups=tuple(self.accounting.cgroups.values()),
                    controls=pages.controls(self.spec),
                    check=check,
                )
        except (TimeoutExpired, KeyboardInterrupt):
            undo.kill_marked(marked[undo.MARK])
            self._clean(journal.orphans())  # a program that made a network had no time to undo
            raise

    def put(self, source: Path, destination: PurePosixPath) -> None:
        """Copy one file, preserving its mode; does nothing if both are the same file."""
        _copy(source, Path(destination))

    def get(self, source: PurePosixPath, destination: Path) -> None:
        """Copy one file, preserving its mode; does nothing if both are the same file."""
        _copy(Path(source), destination)

    def pause(self) -> None:
        """Do nothing: no process runs between two commands."""

    def resume(self) -> None:
        """Do nothing: `pause` does not stop anything."""

    def release(self) -> float:
        """Remove the control group and the disk, if there are any."""
        clock = time.perf_counter()
        if self._entry is not None:
            cgroup.remove(f"aferir-{self._entry.id}", cgroup.layout())
            journal.erase(self._entry)
            self._entry = None
        if self._disk is not None:
            limited_disk.give_back(self._disk.entry)
            self._disk = None
        return time.perf_counter() - clock


def _copy(source: Path, destination: Path) -> None:
    try:
        if destination.exists() and destination.samefile(source):
            return
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, destination)
    except OSError as error:
        raise ProgramError(f"{source} cannot be copied to {destination}: {error}") from None


NATIVE = Kind(
    name=Native.kind,
    spec=NativeSpec,
    make=Native,
    on_host=True,
    spreads=True,
    features=LIMITS,
)
