"""The batch program's control group, version 1 and 2: create, limit, suspend and resume it.

Sources: Documentation/admin-guide/cgroup-v2.rst; cgroup-v1/cpusets.rst, freezer-subsystem.rst;
Documentation/scheduler/sched-bwc.rst of the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgspec

from aferir.colocation import attributes, place
from aferir.colocation.levers import disk, memory
from aferir.colocation.place import Place
from aferir.colocation.settings import Batch, Schedule
from aferir.errors import MissingError
from aferir.linux import cgroup, undo
from aferir.linux.cgroup import Layout

_WANTED = ("cpu", "cpuacct", "cpuset", "freezer", "blkio")
_TRIES = 5


class Group(msgspec.Struct, frozen=True):
    """Folders of one control group, by controller (version 1), or under `unified` (version 2)."""

    name: str
    folders: dict[str, Path]
    share: float = 1.0
    """Factor for all weights of the batch, so that it stays low beside a service of low weight.

    It is the weight of the service's group next to the batch's group, divided by the default
    weight.
    """


def parents(have: Layout, where: Place | None) -> dict[str, Path]:
    """For each controller (or `unified`), return the parent of the batch's group.

    `where` applies to the hierarchy of the CPU controller; in the others it is the root.
    """
    roots = {c: have.v1[c] for c in _WANTED if c in have.v1}
    if have.v2 is not None:
        roots["unified"] = have.v2
    if where is None:
        return roots
    sharing = have.v1.get("cpu") or have.v2
    return {c: where.parent if root == sharing else root for c, root in roots.items()}


def to_switch_on(below: Mapping[str, Path]) -> dict[str, tuple[str, ...]]:
    """For each parent group, return the controllers that `make` will switch on in it."""
    wanted = {str(p): place.not_delegated(p) for c, p in below.items() if c == "unified"}
    return {parent: controllers for parent, controllers in wanted.items() if controllers}


def make(name: str, below: Mapping[str, Path], cpus: Sequence[int], share: float = 1.0) -> Group:
    """Create the group `name` below the parents in `below`, limited to `cpus`.

    Journal `name` and the parents before. Errors: MissingError if the group cannot be created.
    """
    folders = {controller: parent / name for controller, parent in below.items()}
    group = Group(name, folders, share)
    try:
        for controller, folder in folders.items():
            for one in place.not_delegated(folder.parent) if controller == "unified" else ():
                control = folder.parent / "cgroup.subtree_control"
                control.write_text(f"+{one}", encoding="ascii")
            folder.mkdir(exist_ok=True)
        cpuset = held_by(group)
        if cpuset == "cpuset":
            _keep_out_of_domains(folders[cpuset])
        if cpuset:
            held = folders[cpuset] / "cpuset.cpus"
            held.write_text(",".join(map(str, cpus)), encoding="ascii")
        if cpuset == "cpuset":  # version 1 accepts no process before both are set
            nodes = (folders[cpuset].parent / "cpuset.mems").read_text(encoding="ascii")
            (folders[cpuset] / "cpuset.mems").write_text(nodes, encoding="ascii")
        if share != 1.0:
            for controller, file, value in _weight(Batch(), group):
                (folders[controller] / file).write_text(value, encoding="ascii")
    except OSError as error:
        raise MissingError(
            f"the control group {name} for the batch program cannot be made: {error}",
            remedy=_remedy(error, below),
        ) from None
    if not folders:
        raise MissingError(
            "this host mounts no control groups", remedy="mount -t cgroup2 none /sys/fs/cgroup"
        )
    return group


def _keep_out_of_domains(folder: Path) -> None:
    """Exclude a cpuset of version 1 from the scheduling domains; call it before it has CPUs.

    Whenever such a group gets CPUs or is removed, the kernel recounts the reservations of all
    deadline threads (dl_rebuild_rd_accounting). It misses the bandwidth of threads that have just
    left SCHED_DEADLINE, and yet subtracts it later, at their 0-lag time (see `leaving.put`). The
    account then falls below 0, and no further reservation is admitted. The parent's domains balance
    the group's load as well.
    """
    (folder / "cpuset.sched_load_balance").write_text("0", encoding="ascii")


def _remedy(error: OSError, below: Mapping[str, Path]) -> str:
    if error.errno == errno.EBUSY and "unified" in below:  # cgroup-v2.rst, No Internal Process
        return place.make_room(below["unified"])
    if error.errno == errno.EROFS:
        return "control groups are mounted read-only here: run aferir on the container's host"
    return "run as root"


def is_whole(group: Group) -> bool:
    """Whether the group's controllers are still switched on.

    In version 2 the parent's owner, usually systemd, may switch them off, which voids all settings.
    """
    unified = group.folders.get("unified")
    return unified is None or not place.not_delegated(unified.parent)


_CHECKED = ("cpu.weight", "cpu.idle", "cpu.max")


def is_as_set(now: Batch, group: Group, all_cpus: tuple[int, ...]) -> bool:
    """Whether the group's files of version 2 still contain what was written to them.

    systemd writes a unit's own attributes again whenever it is reloaded.
    """
    if "cpu" in group.folders:
        return True
    # No weight is 0, so the usual one is compared too: beside a service of low weight it is less.
    for controller, file, value in writes(Batch(weight=0), now, group, all_cpus):
        if controller == "unified" and file in _CHECKED:
            with contextlib.suppress(OSError):
                held = (group.folders[controller] / file).read_text(encoding="ascii").strip()
                if held != value:
                    return False
    return True


def writes(now: Batch, want: Batch, group: Group, all_cpus: tuple[int, ...]) -> list[_Write]:
    """Files to write to get from one setting to the other, in order: (controller, file, value).

    Settings without effect, because their controller is not available, are omitted.
    """
    found: list[_Write] = []
    v1 = "cpu" in group.folders
    cpu = "cpu" if v1 else "unified"
    if now.idle != want.idle:
        found.append((cpu, "cpu.idle", str(int(want.idle))))
    if not want.idle and (now.weight != want.weight or now.idle):
        found += _weight(want, group)
    if now.quota_cpus != want.quota_cpus:
        found += _quota(want.quota_cpus, v1=v1)
    cpus = _cpus(want, all_cpus)
    if _cpus(now, all_cpus) != cpus and (cpuset := held_by(group)):
        found.append((cpuset, "cpuset.cpus", ",".join(map(str, cpus))))
    if memory.can(group.folders):
        found += memory.writes(now, want)
    if disk.can(group.folders):
        found += disk.writes(now, want, group.folders)
    return found


_Write = tuple[str, str, str]


def held_by(group: Group) -> str:
    """Hierarchy whose cpuset confines the group; "" if only thread affinities can confine it."""
    if "cpuset" in group.folders:
        return "cpuset"
    unified = group.folders.get("unified")
    return "unified" if unified and (unified / "cpuset.cpus").exists() else ""


def _weight(want: Batch, group: Group) -> list[_Write]:
    """File and value of the weight; scaled by `share`, and at least the kernel's minimum."""
    if "cpu" in group.folders:
        shares = want.weight * place.SHARES * group.share / 100
        return [("cpu", "cpu.shares", str(max(2, int(shares))))]
    return [("unified", "cpu.weight", str(max(1, int(want.weight * group.share))))]


def _quota(cpus: float | None, *, v1: bool) -> list[_Write]:
    quota, period = (-1, 100_000) if cpus is None else cgroup.bandwidth_us(max(cpus, 0.001))
    if not v1:
        return [("unified", "cpu.max", f"{'max' if cpus is None else quota} {period}")]
    return [("cpu", "cpu.cfs_period_us", str(period)), ("cpu", "cpu.cfs_quota_us", str(quota))]


def _cpus(batch: Batch, all_cpus: tuple[int, ...]) -> tuple[int, ...]:
    """CPUs that the batch may use: no more than `threads`, as a program may ignore that number."""
    allowed = tuple(cpu for cpu in batch.cpus if cpu in all_cpus) or all_cpus
    return allowed[: batch.threads] if batch.threads else allowed


def change(now: Batch, want: Batch, group: Group, all_cpus: tuple[int, ...]) -> list[str]:
    """Apply the settings to the group; returns problems, one sentence each."""
    problems = []
    if want.suspended and not now.suspended:
        suspend(group)
    for controller, file, value in writes(now, want, group, all_cpus):
        try:
            (group.folders[controller] / file).write_text(value, encoding="ascii")
        except OSError as error:
            problems.append(f"{file} of the batch program cannot be {value}: {error.strerror}")
    if (now.policy, now.nice) != (want.policy, want.nice):
        problems += _schedule_all(group, want)
    cpus = _cpus(want, all_cpus)
    if _cpus(now, all_cpus) != cpus and not held_by(group):
        problems += _hold(group, cpus)
    if now.suspended and not want.suspended:
        resume(group)
    return problems


def take_in(pid: int, now: Batch, group: Group, all_cpus: tuple[int, ...]) -> list[str]:
    """Apply to a program that enters the group those settings that have no file in the group.

    They are the policy, the nice value and, without a cpuset, the CPUs. Returns problems, one
    sentence each.
    """
    problems = _schedule_all(group, now, {pid})
    cpus = _cpus(now, all_cpus)
    if cpus != all_cpus and not held_by(group):
        problems += _hold(group, cpus, {pid})
    return problems


def _schedule_all(group: Group, wanted: Batch, more: AbstractSet[int] = frozenset()) -> list[str]:
    """Set policy and nice value of all threads; `more`: threads possibly not in the group yet."""
    for _ in range(_TRIES):  # a thread being started has what its creator had before
        problems, late = _schedule(_threads(group) | more, wanted)
        if problems or not late:
            return problems
    return []


def _hold(group: Group, cpus: Sequence[int], more: AbstractSet[int] = frozenset()) -> list[str]:
    """Pin the group's threads, and all that they start, to CPUs; used if there is no cpuset.

    `more`: threads that are possibly not in the group yet.
    """
    for _ in range(_TRIES):  # a thread being started has what its creator had before
        late = 0
        for tid in _threads(group) | more:
            try:
                late += os.sched_getaffinity(tid) != set(cpus)
                os.sched_setaffinity(tid, cpus)
            except ProcessLookupError:
                continue
            except OSError as error:
                return [f"the batch program cannot be held on its CPUs: {error.strerror}"]
        if not late:
            break
    return []


def _schedule(tids: Iterable[int], wanted: Batch) -> tuple[list[str], int]:
    """Set a policy that new threads inherit; returns problems and how many threads had another."""
    plain = attributes.of(Schedule(policy=wanted.policy, nice=wanted.nice))
    plain = msgspec.structs.replace(plain, flags=0)
    late = [tid for tid in tids if _differs(tid, plain)]
    for tid in late:
        try:
            attributes.write(tid, plain)
        except ProcessLookupError:
            continue
        except OSError as error:
            return [f"the batch program's threads: {attributes.explain(error)}"], len(late)
    return [], len(late)


def _differs(tid: int, wanted: attributes.Attributes) -> bool:
    try:
        found = attributes.read(tid)
    except ProcessLookupError:
        return False
    return (found.policy, found.nice) != (wanted.policy, wanted.nice)


def _threads(group: Group) -> set[int]:
    found: set[int] = set()
    folder = next(iter(group.folders.values()))
    for pid in cgroup.members(folder):
        with contextlib.suppress(OSError):
            found |= {int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()}
    return found


def suspend(group: Group) -> None:
    """Suspend all processes of the group by its freezer, or by SIGSTOP if there is none."""
    if not _freeze(group, frozen=True):
        _signal(group, signal.SIGSTOP)


def resume(group: Group) -> None:
    """Resume all processes of the group."""
    if not _freeze(group, frozen=False):
        _signal(group, signal.SIGCONT)


def _freeze(group: Group, *, frozen: bool) -> bool:
    for controller, file, values in (
        ("freezer", "freezer.state", ("THAWED", "FROZEN")),
        ("unified", "cgroup.freeze", ("0", "1")),
    ):
        if controller in group.folders:
            try:
                path = group.folders[controller] / file
                path.write_text(values[frozen], encoding="ascii")
            except OSError:
                continue
            return True
    return False


def _signal(group: Group, number: signal.Signals) -> None:
    folder = next(iter(group.folders.values()))
    undo.send_all(lambda: cgroup.members(folder), number)
